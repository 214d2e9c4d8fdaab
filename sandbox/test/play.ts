import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { createSandbox, type Sandbox, type SandboxOptions, type TruthLine } from '../src/index.ts'

export const credentials = { 'x-svc-token': 'demo-token', 'x-svc-uid': 'penstock' }

/** Three lively classes that last twenty minutes, so that each kind of event turns up. */
export const lively = {
  kind: 'school',
  classes: 3,
  students: 8,
  lessonMinutes: 20,
  breakMinutes: 1,
  eventsPerMinute: 30,
} as const

export const minutes = 60_000

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: { readonly code?: number; readonly msg: string; readonly ts: number; readonly data?: never }
}

type RoomLine = Extract<TruthLine, { kind: 'room' }>

/** The sandbox on a virtual clock, called in-process. */
export function play(options: Partial<SandboxOptions> = {}) {
  const clock = new VirtualClock()
  const sandbox = createSandbox({ clock, profile: lively, ...options })
  const get = (path: string, headers: Readonly<Record<string, string>> = credentials) => {
    return request(sandbox, path, headers)
  }
  const linesOf = <Kind extends TruthLine['kind']>(kind: Kind, roomUuid?: string) => {
    const lines = [...sandbox.truth({ roomUuid })]
    return lines.filter((line): line is Extract<TruthLine, { kind: Kind }> => line.kind === kind)
  }
  const roomIn = (isMeant: (room: RoomLine) => boolean): RoomLine => {
    const room = linesOf('room').find(isMeant)
    if (!room) throw new Error('the school has no such room')
    return room
  }
  return {
    clock,
    sandbox,
    get,
    linesOf,
    /** A room whose class goes on, the one with the longest log. */
    running: (): RoomLine => {
      const running = linesOf('room').filter(room => room.state === 1)
      return running.sort((a, b) => b.events - a.events)[0] ?? roomIn(() => false)
    },
    roomIn,
    /** All items of a listing, from the beginning to the null nextId. */
    drain: async (path: string) => {
      const items: Record<string, unknown>[] = []
      const tickets: unknown[] = []
      for (let nextId: unknown = ''; nextId !== null; ) {
        const page = listing(await get(`${path}?nextId=${nextId}`))
        items.push(...page.list)
        nextId = page.nextId
        tickets.push(nextId)
      }
      return { items, tickets }
    },
  }
}

async function request(
  sandbox: Sandbox,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await sandbox.fetch(new Request(`http://sandbox${path}`, { headers }))
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') && safe(text),
  }
}

function safe(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface Listing {
  readonly total: number
  readonly count: number
  readonly nextId: string | number | null
  readonly list: readonly Record<string, unknown>[]
}

export function listing(answer: Answer): Listing {
  if (answer.status !== 200) throw new Error(`expected a listing, got ${answer.status}: ${answer.text}`)
  return answer.body.data as unknown as Listing
}

export function at(roomUuid: string) {
  const room = encodeURIComponent(roomUuid)
  return {
    recordings: `/ap/edu/apps/demo/v2/rooms/${room}/records`,
    resources: `/ap/edu/apps/demo/v1/rooms/${room}/resources`,
    events: `/ap/edu/apps/demo/v2/rooms/${room}/sequences`,
    popupQuiz: `/edu/apps/demo/v2/rooms/${room}/widgets/popupQuiz/sequences`,
    poll: `/edu/apps/demo/v2/rooms/${room}/widgets/poll/sequences`,
  }
}

export const feedPath = '/ap/edu/polling/apps/demo/v2/rooms/sequences'

export function fed(answer: Answer): readonly Record<string, unknown>[] {
  return answer.body.data as unknown as readonly Record<string, unknown>[]
}

/** Which event it is, in words that compare. */
export function key(event: Record<string, unknown>): string {
  return `${event.roomUuid} ${event.sequence}`
}
