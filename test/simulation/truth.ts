import type { Sandbox } from '../../sandbox/src/index.ts'
import { canonical } from './canonical.ts'

interface InRoom {
  readonly app: string
  readonly room: string
  readonly incarnation: number
}

export interface TrueEvent extends InRoom {
  readonly sequence: bigint
  readonly cmd: number
  readonly data: string
  readonly at: bigint
  /** The provider still knows the room, and says so. */
  readonly isServed: boolean
  /** Only the feed ever told of the room. */
  readonly isMuted: boolean
  /** Of a chat message. */
  readonly message: string | undefined
  /** Of what its data list: how many have come or gone, or how many resources have changed. */
  readonly listed: number
}

export interface TrueWidgetItem extends InRoom {
  readonly widget: 'popupQuiz' | 'poll'
  readonly place: number
  readonly data: string
  /** An answer or a vote of someone. */
  readonly isSubmission: boolean
}

export interface TrueRecording {
  readonly key: string
  readonly state: string
  readonly isServed: boolean
}

export interface Truth {
  readonly events: readonly TrueEvent[]
  readonly widgetItems: readonly TrueWidgetItem[]
  readonly recordings: readonly TrueRecording[]
  /** Of rooms that are still served, by app, room and ID. */
  readonly resources: readonly string[]
}

/** Everything that ever was, as far as a client could read it. */
export function readTruth(sandbox: Sandbox): Truth {
  const events: TrueEvent[] = []
  const widgetItems: TrueWidgetItem[] = []
  const recordings: TrueRecording[] = []
  const resources: string[] = []
  const firstPlace = sandbox.settings.switches.widgetItemSequence === 'present' ? 0 : 1
  let [isServed, isMuted] = [false, false]
  for (const line of sandbox.truth()) {
    const { app, roomUuid: room, incarnation } = line
    switch (line.kind) {
      case 'room':
        isMuted = line.muted
        isServed = line.destroyedAt === undefined && !isMuted
        break
      case 'event': {
        const { sequence, cmd, data, at } = line
        const says = data as Readonly<Record<string, unknown>>
        events.push({
          ...{ app, room, incarnation, cmd, isServed, isMuted },
          sequence: BigInt(sequence),
          data: canonical(data),
          at: BigInt(at),
          message: typeof says.message === 'string' ? says.message : undefined,
          listed: Math.max(
            lengthOf(says.onlineUsers) + lengthOf(says.offlineUsers) + lengthOf(says.resources),
            'total' in says ? 1 : 0,
          ),
        })
        break
      }
      case 'widget':
        if (isMuted) break
        widgetItems.push({
          ...{ app, room, incarnation },
          widget: line.widget,
          place: line.position - firstPlace,
          data: canonical(line.item),
          isSubmission: line.step === 'submission' && !line.malformed,
        })
        break
      case 'resource':
        if (isServed) resources.push(`${app} ${room} ${line.item.resourceUuid}`)
        break
      case 'recording': {
        if (isMuted) break
        const { recordId, status, url } = line.item
        recordings.push({ key: `${app} ${room} ${recordId}`, state: `${status} ${url}`, isServed })
      }
    }
  }
  return { events, widgetItems, recordings, resources }
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}
