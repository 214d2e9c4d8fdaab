import { Command, CommanderError } from 'commander'
import { addConfiguration, addDatabase } from './cli/configuration.ts'
import { addDaemon } from './cli/daemon.ts'
import { addApi, addReplay } from './cli/data.ts'
import { addDemo } from './cli/demo.ts'
import { exitCodeOf, exitFailed, exitOk, exitUsage, outputLost, Told, watchOutput } from './cli/exit.ts'
import { version } from './wiring/installation.ts'

/** Reads the command line and runs one command; answers the exit code. Each command is loaded when it is called. */
export async function main(argv: readonly string[]): Promise<number> {
  watchOutput()
  const program = describe()
  try {
    await program.parseAsync([...argv])
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode !== 0) return exitUsage
    // What was asked for, such as the help, was told.
    if (!(error instanceof CommanderError)) return told(error)
  }
  return outputLost.aborted ? exitFailed : exitOk
}

/** Tells an error that was not told yet; answers the exit code that it asks for. */
function told(error: unknown): number {
  if (!(error instanceof Told)) process.stderr.write(`penstock: ${sentence(error)}\n`)
  return exitCodeOf(error)
}

/** Errors of sockets may have nothing but a code. */
function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message) return error.message
  return 'code' in error ? String(error.code) : error.name
}

function describe(): Command {
  const program = new Command('penstock')
    .description('Drains live-classroom REST APIs into Postgres without breaking a limit.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(penstock --help tells what there is; penstock help COMMAND tells more)')
    .addHelpText('after', examples)
  addDaemon(program)
  addConfiguration(program)
  addDatabase(program)
  addReplay(program)
  addApi(program)
  addDemo(program)
  return program
}

const examples = `
Examples:
  penstock demo --for 30s                     see it work: database, sandbox and daemon in one
  penstock validate --config penstock.yaml    is the file right?
  penstock check --config penstock.yaml       are the database and the credentials right?
  penstock forecast --config penstock.yaml    do the plans allow what the file asks for?
  penstock migrate up --config penstock.yaml  prepare the database
  penstock run --config penstock.yaml         drain
  penstock status --config penstock.yaml      what is owed, what is missing
  penstock audit --config penstock.yaml       was every limit kept?
  penstock replay --config penstock.yaml      are the tables what the events say?
  penstock api                                any operation of the provider, by hand

Exit codes: 0 well, 1 failed, 2 wrong command line, 78 wrong configuration.`
