import { Command, CommanderError, Option } from 'commander'
import { plans } from '../provider/limits.ts'
import { streamNames } from '../streams/stream.ts'
import { apiUsage } from './api/usage.ts'
import {
  durationOption,
  faultOption,
  portOption,
  seedOption,
  speedOption,
  switchOption,
  timeOption,
  urlOption,
} from './arguments.ts'
import { exitCodeOf, exitOk, exitUsage, Told } from './exit.ts'
import { version } from './version.ts'

/** Reads the command line and runs one command; answers the exit code. Each command is loaded when it is called. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = describe()
  try {
    await program.parseAsync([...argv])
    return exitOk
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitOk : exitUsage
    if (!(error instanceof Told)) process.stderr.write(`penstock: ${sentence(error)}\n`)
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
  addReplay(program)
  addApi(program)
  addTrial(program)
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
    .command('healthcheck')
    .description('asks the running daemon whether it is alive; for containers')
    .addOption(configOption())
    .option('--ready', 'ask /readyz instead of /healthz: is work being done?')
    .option('--url <address>', 'ask a daemon elsewhere; the configuration is not read')
    .addOption(
      new Option('--within <duration>', 'ask again for as long, such as 30s').argParser(durationOption),
    )
    .addHelpText(
      'after',
      `
Asks the address of http.listen and ends with 1 when the answer is not 200 or takes longer than four seconds.

Examples:
  penstock healthcheck --config penstock.yaml
  penstock healthcheck --ready --url http://penstock:9464 --within 1m`,
    )
    .action(async options => (await import('./healthcheck.ts')).healthcheck(options))

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

  program
    .command('audit')
    .description(
      'counts from the ledger whether any request broke a limit, in another way than they were granted',
    )
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Counts every debit that is kept (two days) against the limits that the file gives now: the most requests that may have
arrived in any second, minute and day, wherever it begins, whatever their way took. Ends with 1 when a limit may have
been broken or debits are missing.

Examples:
  penstock audit --config penstock.yaml
  penstock audit --config penstock.yaml --json | jq '.groups[] | select(.verdict != "kept")'`,
    )
    .action(async options => (await import('./audit.ts')).audit(options))

  program
    .command('backfill')
    .description('marks a range of time to be fetched once more; the running daemon does it')
    .addOption(new Option('--stream <name>', 'what to fetch').choices(streamNames).makeOptionMandatory())
    .requiredOption('--app <id>', 'App ID of the project')
    .addOption(
      new Option('--from <time>', 'begin, as 2026-02-28 or 2026-02-28T13:30Z; UTC')
        .argParser(timeOption)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--to <time>', 'end, not included').argParser(timeOption).makeOptionMandatory())
    .addOption(configOption())
    .addHelpText(
      'after',
      `
Says what lies outside the reach of the plan and cannot be had. Of details (call-sessions, call-metrics) the range is
that of the beginnings of the calls. A first start needs none of this: it goes back as far as the plan reaches.

Examples:
  penstock backfill --stream calls --app 0a1b2c --from 2026-02-26 --to 2026-02-28
  penstock backfill --stream quality-insight --app 0a1b2c --from 2026-02-20T08:00Z --to 2026-02-20T18:00Z
  penstock status --config penstock.yaml      how much of it is still owed`,
    )
    .action(async options => (await import('./backfill.ts')).backfill(options))
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
Asks once for each app for a room that does not exist, which consumes nothing, and, where the app has rest.key,
for the calls of one minute, which counts as one request of the plan.
Ends with 1 when anything fails.

Examples:
  penstock check --config penstock.yaml
  penstock check --config penstock.yaml --json | jq '.checks[] | select(.result == "failed")'`,
    )
    .action(async options => (await import('./check.ts')).check(options))

  program
    .command('forecast')
    .description('what the file needs of call analytics a day against what the plans allow; asks nothing')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Tells for each stream how often it can be asked, what would be lost, and the cheapest change.
Ends with 1 when data would be lost of a stream that acceptLoss of the app does not name.

Examples:
  penstock forecast --config penstock.yaml
  penstock forecast --config penstock.yaml --json | jq '.forecasts[].losses'`,
    )
    .action(async options => (await import('./forecast.ts')).forecast(options))
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

/** Each operation has parameters of its own: the command reads its words by itself. */
function addApi(program: Command): void {
  program
    .command('api')
    .description('performs one of the 28 operations of the provider by hand; alone it lists them')
    .usage('FAMILY.OPERATION --app <id> [--PARAMETER <value> ...]')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText('after', apiUsage)
    .action(async (_words, _options, command: Command) => (await import('./api.ts')).api(command.args))
}

function addReplay(program: Command): void {
  program
    .command('replay')
    .description('rebuilds the derived classroom tables from what is kept raw, and tells the difference')
    .addOption(configOption())
    .option('--app <id>', 'one app instead of all that the file names')
    .option('--room <uuid>', 'one room instead of all, every time that it was used')
    .option('--write', 'make the stored rows what they should be')
    .option('--json', 'print JSON, with the keys of the first rows that differ')
    .addHelpText(
      'after',
      `
Reads classroom.room_event and classroom.widget_event once more, as they were read when they came, room by room. No
difference is expected; after a fix in how events are read there is one, and --write applies it. Safe beside a running
daemon, and again and again. Ends with 1 when rows differ and --write was not given.

Rebuilt: room_state_change, chat_message, attendance, recording_state_change, reward, resource_change, stage_change,
hand_wave, quiz, quiz_submission, poll, poll_submission, poll_tally; and of room the state, its sequence, started_at,
ended_at, valid_from and valid_to.
Left alone: room_event and widget_event themselves; recording, recording_file and resource, which are lists as the
provider showed them last and take nothing from events; what else a room has.
A time that no item of a quiz or poll tells was taken from the answer that brought it, and stays as it is stored. The
end of a class may be any that a reading of its events can have told: what the raw rows hold is the first of them.

Examples:
  penstock replay --config penstock.yaml
  penstock replay --config penstock.yaml --app 0a1b2c --room algebra-7b --json | jq '.tables'
  penstock replay --config penstock.yaml --write`,
    )
    .action(async options => (await import('./replay.ts')).replay(options))
}

function addTrial(program: Command): void {
  program
    .command('demo')
    .description('all in one: embedded Postgres, a sandbox that plays the provider, and the daemon')
    .addOption(
      new Option('--for <duration>', 'end after this time, for example 30s or 5m').argParser(durationOption),
    )
    .option('--json', 'print one line of JSON at the end, and nothing else')
    .addOption(speedFlag(1))
    .addOption(seedFlag())
    .option('--data-dir <folder>', 'where the embedded Postgres and the log live', '.penstock')
    .addHelpText(
      'after',
      `
At its end the rows are held against all that happened in the played world: lost and duplicates should be 0.
The limits of call analytics are in real time: at another speed than 1 it is off.

Examples:
  penstock demo
  penstock demo --for 30s --json
  penstock demo --speed 30 --seed 7`,
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
        .choices(['school', 'backlog', 'idle', 'calls'])
        .default('school'),
    )
    .addOption(
      new Option('--plan <name>', 'pricing plan whose limits the call analytics keep')
        .choices(plans)
        .default('premium'),
    )
    .addOption(
      new Option('--notify <url>', 'where notifications about cloud players are posted').argParser(urlOption),
    )
    .option('--allow-public', 'listen on all addresses: anyone who reaches the port can control it')
    .addHelpText(
      'after',
      `
Examples:
  penstock sandbox --speed 10
  penstock sandbox --switch appFeed=consuming --switch roomReuse=on
  penstock sandbox --fault '{"kind": "status", "status": 503, "rate": 0.1}'
  penstock sandbox --notify http://127.0.0.1:9464/notifications
  penstock sandbox --profile idle --port 0`,
    )
    .action(async options => (await import('./sandbox.ts')).sandbox(options))
}
