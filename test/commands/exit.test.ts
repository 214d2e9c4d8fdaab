import { expect, it } from 'vitest'
import { CommandError, exitCodeOf } from '../../src/commands/cli/exit.ts'
import { ConfigError } from '../../src/config/problem.ts'

it.each([
  ['a command that failed', new CommandError('failed'), 1],
  ['a wrong command line', new CommandError('usage', 2), 2],
  ['a wrong configuration', new ConfigError('penstock.yaml', []), 78],
  ['any other error', new Error('x'), 1],
  ['an exit code that is none of ours', Object.assign(new Error('x'), { exitCode: 99 }), 1],
  ['what is no error at all', 'x', 1],
])('%s ends with its own exit code', (_, error, code) => {
  expect(exitCodeOf(error)).toBe(code)
})
