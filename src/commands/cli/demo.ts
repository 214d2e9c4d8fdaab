import { Option } from 'commander'
import { plans } from '../../provider/limits.ts'
import { families } from '../../provider/operation.ts'
import {
  durationOption,
  type NotedCommand,
  portOption,
  repeatedOption,
  seedOption,
  speedOption,
  urlOption,
} from './options.ts'

export function addDemo(program: NotedCommand): void {
  program
    .command('demo')
    .description('all in one: embedded Postgres, a sandbox that plays the provider, and the daemon')
    .option('--for <duration>', 'end after this time, for example 30s or 5m', durationOption)
    .option('--json', 'print one line of JSON at the end, and nothing else')
    .option('--speed <factor>', 'seconds of the played world in one second', speedOption, 1)
    .option('--seed <number>', 'equal seeds play equal worlds', seedOption, 1)
    .addOption(new Option('--only <service...>', 'drain these services alone').choices(families))
    .option('--data-dir <folder>', 'where the embedded Postgres and the log live', '.penstock')
    .notes(`
At its end the rows are held against all that happened in the played world: lost and duplicates should be 0.
The limits of call analytics are in real time: at another speed than 1 it is off.

Examples:
  penstock demo
  penstock demo --for 30s --json
  penstock demo --speed 30 --seed 7
  penstock demo --only analytics players`)
    .action(async options => (await import('../demo.ts')).demo(options))

  program
    .command('sandbox')
    .description('plays the provider on a port of this machine')
    .option('--port <port>', '0 takes any free one', portOption, 8473)
    .option('--seed <number>', 'equal seeds play equal worlds', seedOption, 1)
    .option('--speed <factor>', 'seconds of the played world in one second', speedOption, 1)
    .addOption(
      repeatedOption(
        '--switch <name=value>',
        'how the provider behaves where the documents leave it open; repeatable',
        'as most deployments do',
      ),
    )
    .addOption(
      repeatedOption('--fault <json>', 'what goes wrong between it and its clients; repeatable', 'nothing'),
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
    .option('--notify <url>', 'where notifications about cloud players are posted', urlOption)
    .option('--allow-public', 'listen on all addresses: anyone who reaches the port can control it')
    .notes(`
Examples:
  penstock sandbox --speed 10
  penstock sandbox --switch appFeed=consuming --switch roomReuse=on
  penstock sandbox --fault '{"kind": "status", "status": 503, "rate": 0.1}'
  penstock sandbox --notify http://127.0.0.1:9465/notifications
  penstock sandbox --profile idle --port 0`)
    .action(async options => (await import('../sandbox.ts')).sandbox(options))
}
