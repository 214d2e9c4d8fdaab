import { Command, CommanderError, Option } from 'commander'
import {
  durationOption,
  faultOption,
  portOption,
  seedOption,
  speedOption,
  switchOption,
} from './arguments.ts'
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
    process.stderr.write(`penstock: ${sentence(error)}\n`)
    return exitCodeOf(error)
  }
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
  addTrial(program)
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

const configOption = () => new Option('--config <file>', 'configuration file (YAML)').default('penstock.yaml')
const speedFlag = (factor: number) =>
  new Option('--speed <factor>', 'seconds of the played world in one second')
    .argParser(speedOption)
    .default(factor)
const seedFlag = () =>
  new Option('--seed <number>', 'equal seeds play equal worlds').argParser(seedOption).default(1)

function addDaemon(program: Command): void {
  program
    .command('run')
    .description('the daemon: drains until SIGTERM or SIGINT')
    .addOption(configOption())
    .addHelpText(
      'after',
      `
A database with url: embedded is started and migrated by itself; any other must have been migrated.

Examples:
  penstock run --config penstock.yaml
  DATABASE_URL=postgres://penstock:secret@db/penstock penstock run --config penstock.yaml`,
    )
    .action(async options => (await import('./run.ts')).run(options))

  program
    .command('status')
    .description('what is owed, how late it is, gaps and dead letters; from the database')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  penstock status --config penstock.yaml
  penstock status --config penstock.yaml --json | jq '.gaps'`,
    )
    .action(async options => (await import('./status.ts')).status(options))
}

function addConfiguration(program: Command): void {
  program
    .command('validate')
    .description('checks the configuration file; asks nothing of the network')
    .addOption(configOption())
    .addHelpText(
      'after',
      `
Ends with 78 and one line for each mistake (file, line, key, what is allowed) when the file is wrong.

Example:
  penstock validate --config penstock.yaml`,
    )
    .action(async options => (await import('./validate.ts')).validate(options))

  program
    .command('check')
    .description('checks database, migrations, rights, and the credentials of every app; changes nothing')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Sends one request for each app: it asks for a room that does not exist, which consumes nothing.
Ends with 1 when anything fails.

Examples:
  penstock check --config penstock.yaml
  penstock check --config penstock.yaml --json | jq '.checks[] | select(.result == "failed")'`,
    )
    .action(async options => (await import('./check.ts')).check(options))
}

function addDatabase(program: Command): void {
  const migrate = program
    .command('migrate')
    .description('prepares the database: up, status')
    .addHelpText(
      'after',
      `
Examples:
  penstock migrate status --config penstock.yaml
  penstock migrate up --config penstock.yaml`,
    )
  migrate
    .command('up')
    .description('applies the migrations that the database lacks, all or none')
    .addOption(configOption())
    .action(async options => (await import('./migrate.ts')).up(options))
  migrate
    .command('status')
    .description('shows every migration and when it was applied')
    .addOption(configOption())
    .action(async options => (await import('./migrate.ts')).status(options))
}

function addTrial(program: Command): void {
  program
    .command('demo')
    .description('all in one: embedded Postgres, a sandbox that plays the provider, and the daemon')
    .addOption(
      new Option('--for <duration>', 'end after this time, for example 30s or 5m').argParser(durationOption),
    )
    .option('--json', 'print one line of JSON at the end, and nothing else')
    .addOption(speedFlag(30))
    .addOption(seedFlag())
    .option('--data-dir <folder>', 'where the embedded Postgres and the log live', '.penstock')
    .addHelpText(
      'after',
      `
At its end the rows are held against all that happened in the played world: lost and duplicates should be 0.

Examples:
  penstock demo
  penstock demo --for 30s --json
  penstock demo --speed 60 --seed 7`,
    )
    .action(async options => (await import('./demo.ts')).demo(options))

  program
    .command('sandbox')
    .description('plays the provider on a port of this machine')
    .addOption(new Option('--port <port>', '0 takes any free one').argParser(portOption).default(8473))
    .addOption(seedFlag())
    .addOption(speedFlag(1))
    .addOption(
      new Option(
        '--switch <name=value>',
        'how the provider behaves where the documents leave it open; repeatable',
      )
        .argParser(switchOption)
        .default({}, 'as most deployments do'),
    )
    .addOption(
      new Option('--fault <json>', 'what goes wrong between it and its clients; repeatable')
        .argParser(faultOption)
        .default([], 'nothing'),
    )
    .addOption(
      new Option('--profile <name>', 'what there is to drain')
        .choices(['school', 'backlog', 'idle'])
        .default('school'),
    )
    .option('--allow-public', 'listen on all addresses: anyone who reaches the port can control it')
    .addHelpText(
      'after',
      `
Examples:
  penstock sandbox --speed 10
  penstock sandbox --switch appFeed=consuming --switch roomReuse=on
  penstock sandbox --fault '{"kind": "status", "status": 503, "rate": 0.1}'
  penstock sandbox --profile idle --port 0`,
    )
    .action(async options => (await import('./sandbox.ts')).sandbox(options))
}
