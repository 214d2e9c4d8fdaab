import type { Command } from 'commander'
import { apiUsage } from '../api/usage.ts'
import { configOption } from './options.ts'

/** Each operation has parameters of its own: the command reads its words by itself. */
export function addApi(program: Command): void {
  program
    .command('api')
    .description('performs one of the 28 operations of the provider by hand; alone it lists them')
    .usage('FAMILY.OPERATION --app <id> [--PARAMETER <value> ...]')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .addHelpText('after', apiUsage)
    .action(async (_words, _options, command: Command) => (await import('../api.ts')).api(command.args))
}

export function addReplay(program: Command): void {
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
