import { Option } from 'commander'
import { seedOption, speedOption } from '../arguments.ts'

/** Flags that several commands have. */
export const configOption = () =>
  new Option('--config <file>', 'configuration file (YAML)').default('penstock.yaml')

export const speedFlag = (factor: number) =>
  new Option('--speed <factor>', 'seconds of the played world in one second')
    .argParser(speedOption)
    .default(factor)

export const seedFlag = () =>
  new Option('--seed <number>', 'equal seeds play equal worlds').argParser(seedOption).default(1)
