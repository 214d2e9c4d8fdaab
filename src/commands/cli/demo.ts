import { type Command, Option } from 'commander'
import { plans } from '../../provider/limits.ts'
import { families } from '../../provider/operation.ts'
import { durationOption, portOption, repeatedOption, seedFlag, speedFlag, urlOption } from './options.ts'

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('all in one: embedded Postgres, a sandbox that plays the provider, and the daemon')
    .addOption(
      new Option('--for <duration>', 'end after this time, for example 30s or 5m').argParser(durationOption),
    )
    .option('--json', 'print one line of JSON at the end, and nothing else')
    .addOption(speedFlag(1))
    .addOption(seedFlag())
    .addOption(new Option('--only <service...>', 'drain these services alone').choices(families))
    .option('--data-dir <folder>', 'where the embedded Postgres and the log live', '.penstock')
    .addHelpText(
      'after',
      `
At its end the rows are held against all that happened in the played world: lost and duplicates should be 0.
The limits of call analytics are in real time: at another speed than 1 it is off.

Examples:
  penstock demo
  penstock demo --for 30s --json
  penstock demo --speed 30 --seed 7
  penstock demo --only analytics players`,
    )
    .action(async options => (await import('../demo.ts')).demo(options))

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
        .argParser(repeatedOption)
        .default([], 'as most deployments do'),
    )
    .addOption(
      new Option('--fault <json>', 'what goes wrong between it and its clients; repeatable')
        .argParser(repeatedOption)
        .default([], 'nothing'),
    )
    .addOption(
      new Option('--profile <name>', 'what there is to drain')
        .choices(['school', 'lively', 'backlog', 'idle', 'calls', 'classes'])
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
  penstock sandbox --notify http://127.0.0.1:9465/notifications
  penstock sandbox --profile idle --port 0`,
    )
    .action(async options => (await import('../sandbox.ts')).sandbox(options))
}
