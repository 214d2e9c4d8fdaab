import { Command, CommanderError, Option } from 'commander'
import { exitCodeOf, exitOk, exitUsage } from './exit.ts'
import { version } from './version.ts'

/** Reads the command line and runs one command; answers the exit code. Each command is loaded when it is called. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = describe()
  try {
    await program.parseAsync([...argv])
    return exitOk
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitOk : exitUsage
    process.stderr.write(`penstock: ${error instanceof Error ? error.message : String(error)}\n`)
    return exitCodeOf(error)
  }
}

const configOption = () => new Option('--config <file>', 'configuration file (YAML)').default('penstock.yaml')

function describe(): Command {
  const program = new Command('penstock')
    .description('Drains live-classroom REST APIs into Postgres without breaking a limit.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(penstock --help tells what there is)')
    .addHelpText('after', examples)

  program
    .command('run')
    .description('the daemon: drains until SIGTERM or SIGINT')
    .addOption(configOption())
    .action(async options => (await import('./run.ts')).run(options))
  return program
}

const examples = `
Examples:
  penstock demo --for 30s                     see it work: database, sandbox and daemon in one
  penstock validate --config penstock.yaml    is the file right?
  penstock check --config penstock.yaml       are the database and the credentials right?
  penstock migrate up --config penstock.yaml  prepare the database
  penstock run --config penstock.yaml         drain
  penstock status --config penstock.yaml      what is owed, what is missing

Exit codes: 0 well, 1 failed, 2 wrong command line, 78 wrong configuration.`
