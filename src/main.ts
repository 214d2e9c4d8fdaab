#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { CommanderError } from 'commander'
import { addData } from './commands/cli/data.ts'
import { addDemo } from './commands/cli/demo.ts'
import {
  exitCodeOf,
  exitFailed,
  exitOk,
  exitUsage,
  outputLost,
  Told,
  watchOutput,
} from './commands/cli/exit.ts'
import { configOption, durationOption, NotedCommand } from './commands/cli/options.ts'
import { version } from './commands/wiring/installation.ts'

/**
 * V8 would rather take memory than collect what pages leave behind: it would let what is young grow to 100 MiB, and the
 * rest to several times of what is in use. No flag here is a limit at which a process would end.
 */
const collectEarly = ['--semi-space-growth-factor=1', '--heap-growing-percent=30']

/** Reads the command line and runs one command; answers the exit code. Each command is loaded when it is called. */
async function main(argv: readonly string[]): Promise<number> {
  for (const flag of collectEarly) setFlagsFromString(flag)
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

function describe(): NotedCommand {
  const program = new NotedCommand('penstock')
    .description('Drains live-classroom REST APIs into Postgres without breaking a limit.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(penstock --help tells what there is; penstock help COMMAND tells more)')
    .notes(examples)
  addDaemon(program)
  addConfiguration(program)
  addData(program)
  addDemo(program)
  return program
}

const examples = `
Examples:
  penstock demo --for 30s                     see it work: database, sandbox and daemon in one
  penstock init                               begin: write penstock.yaml
  penstock validate --config penstock.yaml    is the file right?
  penstock check --config penstock.yaml       are the database and the credentials right?
  penstock forecast --config penstock.yaml    do the plans allow what the file asks for?
  penstock migrate up --config penstock.yaml  prepare the database
  penstock run --config penstock.yaml         drain
  penstock status --config penstock.yaml      what is to be fetched yet, what is missing
  penstock audit --config penstock.yaml       was every limit kept?
  penstock forget --app 0a1b2c --user 4f7a    how many rows tell of a person? --write masks them
  penstock replay --config penstock.yaml      are the tables what the events say?
  penstock api                                any operation of the provider, by hand

Exit codes: 0 well, 1 failed, 2 wrong command line, 78 wrong configuration.`

function addDaemon(program: NotedCommand): void {
  program
    .command('run')
    .description('the daemon: drains until SIGTERM or SIGINT, or the end of its terminal')
    .addOption(configOption())
    .notes(`
A database with url: embedded is started and migrated by itself; any other must have been migrated.
Its file is read again when it changes, and at SIGHUP where no terminal controls the daemon. A wrong file changes nothing;
apps come and change at once, one that is taken away goes at SIGHUP alone, and the log names the keys that need a restart.
In a terminal SIGHUP says that it was closed, and the daemon drains.
SIGUSR2 has everything logged (debug), and once more what log.level says.
Ends with 1, when it has drained, once nobody reads its log any more (standard output).

Examples:
  penstock run --config penstock.yaml
  DATABASE_URL=postgres://penstock:secret@db/penstock penstock run --config penstock.yaml`)
    .action(async options => (await import('./commands/run.ts')).run(options))

  program
    .command('healthcheck')
    .description('asks the running daemon whether it is alive; for containers')
    .addOption(configOption())
    .option('--ready', 'ask /readyz instead of /healthz: database, migrations, owner of the apps')
    .option('--url <address>', 'ask a daemon elsewhere; the configuration is not read')
    .option('--within <duration>', 'ask again for as long, such as 30s', durationOption)
    .notes(`
Asks the address of http.listen and ends with 1 when the answer is not 200 or takes longer than four seconds.

Examples:
  penstock healthcheck --config penstock.yaml
  penstock healthcheck --ready --url http://penstock:9464 --within 1m`)
    .action(async options => (await import('./commands/healthcheck.ts')).healthcheck(options))
}

function addConfiguration(program: NotedCommand): void {
  program
    .command('password')
    .description('reads a password from standard input and prints what http.accessFile wants')
    .requiredOption('--user <name>', 'who may see the page, /status and /metrics')
    .notes(`
Example:
  penstock password --user ops < password.txt > access.txt`)
    .action(async options => (await import('./commands/password.ts')).password(options))

  program
    .command('init')
    .description('writes a configuration, from flags and from what it asks at a terminal')
    .addOption(configOption())
    .option('--force', 'write over a file that is there')
    .option('--app <id>', 'App ID of the project')
    .option('--region <name>', 'cn, ap, eu or na (ap unless told)')
    .option('--plan <name>', 'pricing plan (premium unless told)')
    .option('--database <address>', 'postgres://..., or embedded, which is usual')
    .option('--classroom-url <address>', 'the classroom service')
    .option('--uid <id>', 'user ID that asks it')
    .option('--token-file <file>', 'its token, seen from the configuration')
    .option('--analytics-url <address>', 'the call analytics service')
    .option('--players-url <address>', 'the cloud player service')
    .option('--key <key>', 'REST key of the project')
    .option('--secret-file <file>', 'its REST secret, seen from the configuration')
    .notes(`
Secrets are asked for without showing them, and kept in files beside the configuration that its owner alone can read.

Examples:
  penstock init
  penstock init --app 0a1b2c --classroom-url https://classroom.example.com --uid 7 --token-file /run/secrets/token`)
    .action(async options => (await import('./commands/init.ts')).init(options))

  program
    .command('validate')
    .description('checks the configuration file; asks nothing of the network')
    .addOption(configOption())
    .notes(`
Ends with 78 and one line for each mistake (file, line, key, what is allowed) when the file is wrong.

Example:
  penstock validate --config penstock.yaml`)
    .action(async options => (await import('./commands/validate.ts')).validate(options))

  program
    .command('check')
    .description('checks database, migrations, rights, and the credentials of every app; changes nothing')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .notes(`
Asks once for each app, where it has the credentials: for a room that does not exist, which consumes nothing,
for the calls of one minute, which counts as one request of the plan, and for a list of one player.
Ends with 1 when anything fails.

Examples:
  penstock check --config penstock.yaml
  penstock check --config penstock.yaml --json | jq '.checks[] | select(.result == "failed")'`)
    .action(async options => (await import('./commands/check.ts')).check(options))

  program
    .command('forecast')
    .description('what the file wants of call analytics a day against what the plans allow; asks nothing')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .notes(`
Tells for each stream how often it can be asked, what would be lost, and the cheapest change.
Ends with 1 when data would be lost of a stream that acceptLoss of the app does not name.

Examples:
  penstock forecast --config penstock.yaml
  penstock forecast --config penstock.yaml --json | jq '.forecasts[].losses'`)
    .action(async options => (await import('./commands/forecast.ts')).forecast(options))
}

process.exitCode = await main(process.argv)
