import { Option } from 'commander'
import { streams } from '../../streams/index.ts'
import { configOption, type NotedCommand, repeatedOption, timeOption } from './options.ts'

/** What works with the database, and with the provider by hand. */
export function addData(program: NotedCommand): void {
  addMigrate(program)
  addReadings(program)
  addSql(program)
  addBackfill(program)
  addReplay(program)
  addForget(program)
  addApi(program)
}

function addMigrate(program: NotedCommand): void {
  const migrate = program
    .command('migrate')
    .description('prepares the database: up, status')
    .notes(`
Examples:
  penstock migrate status --config penstock.yaml
  penstock migrate up --config penstock.yaml`)
  migrate
    .command('up')
    .description('applies the migrations that the database lacks; one that was killed goes on where it was')
    .addOption(configOption())
    .action(async options => (await import('../migrate.ts')).up(options))
  migrate
    .command('status')
    .description('shows every migration and when it was applied')
    .addOption(configOption())
    .action(async options => (await import('../migrate.ts')).status(options))
}

const watching = new Option(
  '--watch',
  'go on: draw it anew on a terminal, else print the verdict whenever its state changes',
)
watching.conflicts(['json', 'check'])

function addReadings(program: NotedCommand): void {
  program
    .command('status')
    .description('how it goes: the verdict, the backlog, how late it is, gaps and dead letters')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addOption(watching)
    .option('--check', 'print the verdict alone; end with 1 when it is behind, losing or stopped')
    .notes(`
Reads the database, and asks the daemon at http.listen what it sees by itself; either is enough.

Examples:
  penstock status --config penstock.yaml
  penstock status --config penstock.yaml --check
  penstock status --config penstock.yaml --watch
  penstock status --config penstock.yaml --json | jq '.gaps'`)
    .action(async options => (await import('../status.ts')).status(options))

  program
    .command('audit')
    .description('counts in the ledger of requests whether any of them broke a limit')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .notes(`
Counts every debit that is kept (two days) against the limits that the file gives now: the most requests that may have
arrived in any second, minute and day, wherever it begins, whatever their way took. Ends with 1 when a limit may have
been broken or debits are missing.

Examples:
  penstock audit --config penstock.yaml
  penstock audit --config penstock.yaml --json | jq '.groups[] | select(.verdict != "kept")'`)
    .action(async options => (await import('../audit.ts')).audit(options))
}

function addSql(program: NotedCommand): void {
  program
    .command('sql')
    .description('runs a query, or opens a prompt; needs no psql, and changes nothing unless --write says so')
    .argument('[query]', 'what to ask; statements are typed, or come on standard input, without it')
    .addOption(
      repeatedOption('-c, --command <statements>', 'statements to run, one transaction; repeatable', 'none'),
    )
    .option('-f, --file <file>', 'a file of statements')
    .addOption(configOption())
    .option('--demo', 'ask the database of the demo, whether or not it runs')
    .option('--data-dir <folder>', 'where the Postgres of the demo lives', '.penstock')
    .option('--url <address>', 'ask another database')
    .option('--write', "let it write, with the rights of the daemon's role")
    .option('--json', 'print rows as JSON')
    .notes(`
Asks as a member of penstock_read where the login may, and in read-only transactions. Each statement prints what it answers;
one that is refused ends the command with 1, and is told with its place.

Examples:
  penstock sql --demo "select * from classroom.class limit 5"
  penstock sql --config penstock.yaml "select * from ingest.complete_day where days_ago = 1"
  penstock sql --demo -c "select * from ingest.loss" -c '\\d ingest.loss'
  penstock sql --config penstock.yaml < questions.sql`)
    .action(async (query, options) => (await import('../sql.ts')).sql(query, options))
}

const wholeRoom = new Option('--room <uuid>', 'all of a room, from its beginning, instead of a range')
wholeRoom.conflicts(['stream', 'from', 'to'])

function addBackfill(program: NotedCommand): void {
  program
    .command('backfill')
    .description('marks a range of time, or a room, to be fetched once more; the running daemon does it')
    .addOption(new Option('--stream <name>', 'what to fetch').choices(Object.keys(streams)))
    .requiredOption('--app <id>', 'App ID of the project')
    .option('--from <time>', 'begin, as 2026-02-28 or 2026-02-28T13:30Z; UTC', timeOption)
    .option('--to <time>', 'end, not included', timeOption)
    .addOption(wholeRoom)
    .option('--watch', 'go on until the daemon has fetched it, and draw how much is left')
    .addOption(configOption())
    .notes(`
Says what lies outside the plan's available data, or leaves it before the daemon can ask for it at its pace, and cannot be had.
What was fetched before and expires before it is fetched once more is no loss. Of details (call-sessions, call-metrics) the range is
that of the beginnings of the calls. A first start needs none of this: it goes back as far as the plan has data available.

Examples:
  penstock backfill --stream calls --app 0a1b2c --from 2026-02-26 --to 2026-02-28
  penstock backfill --stream quality-insight --app 0a1b2c --from 2026-02-20T08:00Z --to 2026-02-20T18:00Z
  penstock backfill --room algebra-7b --app 0a1b2c      all of its streams from the beginning
  penstock status --config penstock.yaml      how much of it is still to be fetched`)
    .action(async options => (await import('../backfill.ts')).backfill(options))
}

function addReplay(program: NotedCommand): void {
  program
    .command('replay')
    .description('rebuilds the derived classroom tables from what is kept raw, and tells the difference')
    .addOption(configOption())
    .option('--app <id>', 'one app instead of all that the file names')
    .option('--room <uuid>', 'one room instead of all, every time that it was used')
    .option('--write', 'make the stored rows what they should be')
    .option('--dead-letters', 'try again what could not be read, and then as with --write')
    .option('--json', 'print JSON, with the keys of the first rows that differ')
    .notes(`
Reads classroom.room_event and classroom.widget_event once more, as they were read when they came, room by room. No
difference is expected; after a fix in how events are read there is one, and --write applies it. Safe beside a running
daemon, and again and again. Ends with 1 when rows differ and --write was not given.

Rebuilt: room_state_change, chat_message, attendance, recording_state_change, reward, resource_change, stage_change,
hand_wave, quiz, quiz_submission, poll, poll_submission, poll_tally; and of room what events tell themselves: the state,
its sequence, started_at, and that it has not ended.
Left alone: room_event and widget_event themselves; recording, recording_file and resource, which are lists as the
provider showed them last and take nothing from events; what else a room has.
A time that no item of a quiz or poll, and no event of a room, tells was taken from the answer that brought it, and stays
as it is stored.

With --dead-letters, after an upgrade: each letter of ingest.dead_letter, of any stream, is read once more. What can be
read now is stored, the tables of rooms are rebuilt, and the letter is closed, which takes it away; so it is where the
daemon has read the same since. Of an answer only the first 64 KiB are kept: what a longer one is about is asked for
again by the running daemon where it can still be had, and its letter closes with a later run; else it stays, and the
report says so.

Examples:
  penstock replay --config penstock.yaml
  penstock replay --config penstock.yaml --app 0a1b2c --room algebra-7b --json | jq '.tables'
  penstock replay --config penstock.yaml --write
  penstock replay --config penstock.yaml --dead-letters`)
    .action(async options => (await import('../replay.ts')).replay(options))
}

function addForget(program: NotedCommand): void {
  program
    .command('forget')
    .description(
      'replaces a person everywhere by a pseudonym, also in what comes later; lists the rows first',
    )
    .requiredOption('--app <id>', 'App ID of the project')
    .option('--user <id>', 'user_uuid of classrooms')
    .option('--uid <id>', 'user ID of calls')
    .option('--room <uuid>', 'everyone who was in a room, and what they wrote there')
    .addOption(configOption())
    .option('--write', 'do it; without it the rows are counted alone')
    .option('--json', 'print JSON')
    .notes(`
Takes the ID, the name, and what the person wrote in chats out of every table, raw events and dead letters included. Rows,
keys, sequences, digests and counts stay, so nothing becomes incomplete. A keyed hash in ingest.forgotten has the daemon mask
the same ID in whatever is read later. It cannot be undone, and may be run again at any time.
An ID of calls is another than that of classrooms: forget both. Backups of the database know what they know.

Examples:
  penstock forget --app 0a1b2c --user 4f7a          how many rows tell of this user?
  penstock forget --app 0a1b2c --user 4f7a --write
  penstock forget --app 0a1b2c --uid 1204 --write
  penstock forget --app 0a1b2c --room algebra-7b --write`)
    .action(async options => (await import('../forget.ts')).forget(options))
}

/** Each operation has parameters of its own: the command reads its words by itself. */
function addApi(program: NotedCommand): void {
  program
    .command('api')
    .description('performs one of the 28 operations of the provider by hand; alone it lists them')
    .usage('FAMILY.OPERATION --app <id> [--PARAMETER <value> ...]')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .notes(apiUsage)
    .action(async (_words, _options, command: NotedCommand) =>
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
