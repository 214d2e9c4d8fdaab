import type { TruthLine } from '../../../sandbox/src/index.ts'

type Line<Kind extends TruthLine['kind']> = Extract<TruthLine, { readonly kind: Kind }>

/** All that was ever true of one incarnation of a room. */
export interface TruthRoom {
  readonly room: Line<'room'>
  readonly events: Line<'event'>[]
  readonly quiz: Line<'widget'>[]
  readonly poll: Line<'widget'>[]
  readonly recordings: Line<'recording'>[]
  readonly resources: Line<'resource'>[]
}

/** Gathers the sandbox's truth by room. Rooms in which nothing has happened yet are left out: nothing tells of them. */
export function gatherRooms(lines: Iterable<TruthLine>): readonly TruthRoom[] {
  const rooms: TruthRoom[] = []
  for (const line of lines) {
    if (line.kind === 'room') {
      rooms.push({ room: line, events: [], quiz: [], poll: [], recordings: [], resources: [] })
      continue
    }
    const room = rooms.at(-1)
    if (room) addTo(room, line)
  }
  return rooms.filter(({ events }) => events.length > 0)
}

function addTo(room: TruthRoom, line: Exclude<TruthLine, Line<'room'>>): void {
  switch (line.kind) {
    case 'event':
      room.events.push(line)
      break
    case 'widget':
      room[line.widget === 'poll' ? 'poll' : 'quiz'].push(line)
      break
    case 'recording':
      room.recordings.push(line)
      break
    case 'resource':
      room.resources.push(line)
      break
    case 'step':
    case 'call':
  }
}
