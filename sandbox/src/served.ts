import { exact } from './json.ts'
import { told } from './nameless.ts'
import type { Switches } from './switches.ts'
import type { Member, Room, RoomEvent, WidgetEntry } from './world.ts'

const serviceVersion = 1
/** While the service is being replaced, some events are told by the next one. */
export const otherVersion = 2
const actions = { set: 1 } as const
const roleWords: Readonly<Record<number, string>> = { 1: 'teacher', 2: 'student', 3: 'assistant' }

/** An event as operations 9 and 10 serve it. */
export function servedEvent({ uuid }: Room, event: RoomEvent): object {
  const { sequence, cmd, version = serviceVersion, data, spoilt } = event
  return { roomUuid: uuid, cmd, sequence: exact(sequence), version, data, ...spoilt }
}

/** An event as the log of its room tells it at `now`. */
export function loggedEvent(room: Room, event: RoomEvent, now: number): object {
  const { retold } = event
  return servedEvent(room, retold && now >= retold.from ? { ...event, data: retold.data } : event)
}

/** A change of a quiz or poll as operations 17 and 18 serve it. */
export function servedWidgetItem(entry: WidgetEntry, switches: Switches): object {
  const { sequence, cause, author, starter } = entry
  const people =
    switches.submitter === 'operator' ? [author, starter] : [starter ?? author, starter && author]
  return {
    ...(switches.widgetItemSequence === 'present' && { sequence }),
    action: actions.set,
    changeProperties: entry.malformed ? 'none' : changeProperties(entry, switches),
    cause,
    operator: told(shown(people[0]!), switches),
    ...(people[1] && { fromUser: told(shown(people[1]), switches) }),
  }
}

function changeProperties({ extra, beside, state }: WidgetEntry, { widgetKeys }: Switches): object {
  const rest = { ...beside, ...(state !== undefined && { state }) }
  const entries = Object.entries(extra)
  if (entries.length === 0) return rest
  if (widgetKeys === 'nested') return { extra, ...rest }
  return { ...Object.fromEntries(entries.map(([key, value]) => [dotted(key), value])), ...rest }
}

/** Such keys were seen to name the state of a poll otherwise than the document does. */
function dotted(key: string): string {
  return key === 'pollingState' ? 'extra.pollState' : `extra.${key}`
}

function shown({ userUuid, userName, role }: Member): object {
  return { userUuid, userName, role: roleWords[role] }
}

/** What somebody is in a class, as the events of its room tell it. */
export function roleIn({ roles }: Switches, role: number): number | string {
  return (roles === 'word' ? roleWords[role] : undefined) ?? role
}
