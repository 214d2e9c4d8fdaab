import { type Command, Option } from 'commander'
import { streamNames } from '../../streams/stream.ts'
import { configOption, durationOption, timeOption } from './options.ts'

export function addDaemon(program: Command): void {
  program
    .command('run')
    .description('the daemon: drains until SIGTERM, SIGINT or SIGHUP')
    .addOption(configOption())
    .addHelpText(
      'after',
      `
A database with url: embedded is started and migrated by itself; any other must have been migrated.
Ends with 1, when it has drained, once nobody reads its log any more (standard output).

Examples:
  penstock run --config penstock.yaml
  DATABASE_URL=postgres://penstock:secret@db/penstock penstock run --config penstock.yaml`,
    )
    .action(async options => (await import('../run.ts')).run(options))

  program
    .command('healthcheck')
    .description('asks the running daemon whether it is alive; for containers')
    .addOption(configOption())
    .option('--ready', 'ask /readyz instead of /healthz: database, migrations, owner of the apps')
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
    .action(async options => (await import('../healthcheck.ts')).healthcheck(options))

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

  program
    .command('backfill')
    .description('marks a range of time, or a room, to be fetched once more; the running daemon does it')
    .addOption(new Option('--stream <name>', 'what to fetch').choices(streamNames))
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
Says what lies outside the reach of the plan, or leaves it before the daemon can ask for it at its pace, and cannot be had.
What was fetched before and leaves the reach before it is fetched once more is no loss. Of details (call-sessions, call-metrics) the range is
that of the beginnings of the calls. A first start needs none of this: it goes back as far as the plan reaches.

Examples:
  penstock backfill --stream calls --app 0a1b2c --from 2026-02-26 --to 2026-02-28
  penstock backfill --stream quality-insight --app 0a1b2c --from 2026-02-20T08:00Z --to 2026-02-20T18:00Z
  penstock backfill --room algebra-7b --app 0a1b2c      all of its streams from the beginning
  penstock status --config penstock.yaml      how much of it is still owed`,
    )
    .action(async options => (await import('../backfill.ts')).backfill(options))
}
