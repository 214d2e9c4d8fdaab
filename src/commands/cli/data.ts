import { type Command, Option } from 'commander'
import { streams } from '../../streams/index.ts'
import { configOption, timeOption } from './options.ts'

/** What works with the database, and with the provider by hand. */
export function addData(program: Command): void {
  addMigrate(program)
  addReadings(program)
  addBackfill(program)
  addReplay(program)
  addApi(program)
}

function addMigrate(program: Command): void {
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
    .action(async options => (await import('../migrate.ts')).up(options))
  migrate
    .command('status')
    .description('shows every migration and when it was applied')
    .addOption(configOption())
    .action(async options => (await import('../migrate.ts')).status(options))
}

function addReadings(program: Command): void {
  program
    .command('status')
    .description('the backlog, how late it is, gaps and dead letters; from the database')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  penstock status --config penstock.yaml
  penstock status --config penstock.yaml --json | jq '.gaps'`,
    )
    .action(async options => (await import('../status.ts')).status(options))

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
    .action(async options => (await import('../audit.ts')).audit(options))
}

function addBackfill(program: Command): void {
  program
    .command('backfill')
    .description('marks a range of time, or a room, to be fetched once more; the running daemon does it')
    .addOption(new Option('--stream <name>', 'what to fetch').choices(Object.keys(streams)))
    .requiredOption('--app <id>', 'App ID of the project')
    .addOption(
      new Option('--from <time>', 'begin, as 2026-02-28 or 2026-02-28T13:30Z; UTC').argParser(timeOption),
    )
    .addOption(new Option('--to <time>', 'end, not included').argParser(timeOption))
    .addOption(
      new Option('--room <uuid>', 'all of a room, from its beginning, instead of a range').conflicts([
        ...['stream', 'from', 'to'],
      ]),
    )
    .addOption(configOption())
    .addHelpText(
      'after',
      `
Says what lies outside the plan's available data, or leaves it before the daemon can ask for it at its pace, and cannot be had.
What was fetched before and expires before it is fetched once more is no loss. Of details (call-sessions, call-metrics) the range is
that of the beginnings of the calls. A first start needs none of this: it goes back as far as the plan has data available.

Examples:
  penstock backfill --stream calls --app 0a1b2c --from 2026-02-26 --to 2026-02-28
  penstock backfill --stream quality-insight --app 0a1b2c --from 2026-02-20T08:00Z --to 2026-02-20T18:00Z
  penstock backfill --room algebra-7b --app 0a1b2c      all of its streams from the beginning
  penstock status --config penstock.yaml      how much of it is still to be fetched`,
    )
    .action(async options => (await import('../backfill.ts')).backfill(options))
}

function addReplay(program: Command): void {
  program
    .command('replay')
    .description('rebuilds the derived classroom tables from what is kept raw, and tells the difference')
    .addOption(configOption())
    .option('--app <id>', 'one app instead of all that the file names')
    .option('--room <uuid>', 'one room instead of all, every time that it was used')
    .option('--write', 'make the stored rows what they should be')
    .option('--dead-letters', 'try again what could not be read, and then as with --write')
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

With --dead-letters, after an upgrade: each letter of ingest.dead_letter, of any stream, is read once more. What can be
read now is stored, the tables of rooms are rebuilt, and the letter is closed, which takes it away; so it is where the
daemon has read the same since. Of an answer only the first 64 KiB are kept: what a longer one is about is asked for
again by the running daemon where it can still be had, and its letter closes with a later run; else it stays, and the
report says so.

Examples:
  penstock replay --config penstock.yaml
  penstock replay --config penstock.yaml --app 0a1b2c --room algebra-7b --json | jq '.tables'
  penstock replay --config penstock.yaml --write
  penstock replay --config penstock.yaml --dead-letters`,
    )
    .action(async options => (await import('../replay.ts')).replay(options))
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
    .action(async (_words, _options, command: Command) =>
      (await import('../api.ts')).api(command.args, apiUsage),
    )
}

/** What holds for every operation; printed by the help of the command. */
const apiUsage = `
  --config <file>     configuration file (YAML) (default: "penstock.yaml")
  --app <id>          App ID of the project; not needed where the file has one app only
  --patience <time>   how long the request may wait for its turn (default: 60s)
  --request-id <uuid> X-Request-ID to send (default: a new one for each request)
  --dry-run           print the request, secrets replaced; connect to nothing
  --json              print one line of JSON; errors too
  --help              what an operation does, its parameters and their rules

A value is written as it is; objects and lists as JSON. @FILE takes it from a file, env:NAME from the environment, and
text:VALUE is VALUE itself, whatever it begins with. Secrets are taken from files and from the environment only.
Requests go through the same limits as those of the daemon, whether or not one runs.

Exit codes: 0 well, 1 failed here (database), 2 wrong command line or parameter, 3 the provider says the request is
wrong (400), 4 there is no such thing (404), 5 conflict (409), 6 no access (401, 403, plan), 7 a limit or a quota is
used up, 8 the provider failed (500, 503) or answered what cannot be read, 9 no answer: nobody knows whether it was
done, 78 wrong configuration.

Examples:
  penstock api                                          the operations
  penstock api players.createPlayer --help              the parameters of one
  penstock api classroom.setRoomState --app 0a1b2c --roomUuid math-1 --state 1
  penstock api players.createPlayer --app 0a1b2c --channelName math-1 --uid 7 \\
    --streamUrl rtmp://media.example.com/live/math --token env:CHANNEL_TOKEN
  penstock api analytics.callSearch --app 0a1b2c --start_ts 1772000000 --end_ts 1772003600 --json`
