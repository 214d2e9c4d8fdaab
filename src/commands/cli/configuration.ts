import type { Command } from 'commander'
import { configOption } from './options.ts'

export function addConfiguration(program: Command): void {
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
    .action(async options => (await import('../validate.ts')).validate(options))

  program
    .command('check')
    .description('checks database, migrations, rights, and the credentials of every app; changes nothing')
    .addOption(configOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Asks once for each app, where it has the credentials: for a room that does not exist, which consumes nothing,
for the calls of one minute, which counts as one request of the plan, and for a list of one player.
Ends with 1 when anything fails.

Examples:
  penstock check --config penstock.yaml
  penstock check --config penstock.yaml --json | jq '.checks[] | select(.result == "failed")'`,
    )
    .action(async options => (await import('../check.ts')).check(options))

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
    .action(async options => (await import('../forecast.ts')).forecast(options))
}
