import { machineFaults } from './demands.ts'
import { callFaults } from './faults.ts'
import type { Server } from './server.ts'
import { spellKinds } from './spells.ts'

/**
 * What must have happened at least once in the runs of a gate: a kind of trouble that never came proves nothing. Written
 * from the documents and from the table reference, not from what the program printed.
 */
export const wanted: readonly string[] = [
  ...callFaults.flatMap(fault =>
    fault === 'kill' ? ['fault kill before', 'fault kill after'] : [`fault ${fault}`],
  ),
  ...machineFaults.map(fault => `fault ${fault}`),
  ...spellKinds.map(({ name }) => `fault ${name}`),
  ...['hole', 'room_forgotten', 'unread_answer', 'pause', 'expired', 'vanished', 'not_served'].map(
    reason => `gap ${reason}`,
  ),
  ...['committed', 'refused', 'unread'].map(outcome => `debit ${outcome}`),
  ...['malformed'].map(reason => `letter ${reason}`),
  ...['another owner took over', 'a room was used again', 'a player ended unseen', 'history changed'].map(
    what => `resumed: ${what}`,
  ),
]

/** What happened in one run, by the names of `wanted`. */
export async function happenedIn(
  { rows }: Server,
  struck: Readonly<Record<string, number>>,
): Promise<ReadonlySet<string>> {
  const told = await rows<{ what: string }>(
    `select distinct 'gap ' || reason as what from ingest.gap
     union select distinct 'debit ' || outcome from ingest.debit where outcome is not null
     union select distinct 'letter ' || reason from ingest.dead_letter
     union select 'resumed: another owner took over' from ingest.ownership where epoch > 1
     union select 'resumed: a room was used again' from classroom.room_event where incarnation > 1
     union select 'resumed: a player ended unseen' from players.cloud_player where destroyed_at is not null
     union select 'resumed: history changed' from ingest.history having count(*) > 1`,
  )
  return new Set([...told.map(({ what }) => what), ...Object.keys(struck).map(kind => `fault ${kind}`)])
}
