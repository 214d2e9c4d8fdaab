import { createSandbox, demoApp } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import { requestLine } from '../src/provider/operation.ts'
import { streams } from '../src/streams/index.ts'
import type { CursorStream } from '../src/streams/stream.ts'

/** What a backlog has to tell: the sandbox answers for it. */
export interface Answers {
  /** What the operation of a stream is asked under; `more` are parameters besides region and app. */
  readonly targetOf: (stream: CursorStream, more: object) => string
  /** The bytes of the answer. Throws where that is none of HTTP 200. */
  readonly answer: (target: string) => Promise<Buffer>
}

type OfRoom = Extract<(typeof streams)[keyof typeof streams], { readonly kind: 'log' | 'snapshot' }>

/** Streams over what each room has. */
export const ofRooms = Object.values(streams).filter(
  (stream): stream is OfRoom => 'scope' in stream && stream.scope === 'room',
)

const credentials = { 'x-svc-uid': demoApp.uid, 'x-svc-token': demoApp.token }

export function openBacklog(rooms: number, eventsPerRoom: number, hoursAgo = 0): Answers {
  const sandbox = createSandbox({
    clock: { ...systemClock, now: () => systemClock.now() - hoursAgo * 3_600_000 },
    seed: 1,
    profile: { kind: 'backlog', rooms, eventsPerRoom },
  })
  return {
    targetOf: (stream, more) => {
      const known: Record<string, unknown> = { region: 'ap', appId: demoApp.id, ...more }
      const { pathParams } = stream.operation
      const fits = ([name]: [string, unknown]) => name in pathParams || name in more
      return requestLine(stream.operation, Object.fromEntries(Object.entries(known).filter(fits))).target
    },
    answer: async target => {
      const response = await sandbox.fetch(new Request(`http://sandbox${target}`, { headers: credentials }))
      const body = Buffer.from(await response.arrayBuffer())
      if (response.status !== 200) throw new Error(`the sandbox answers ${target} with ${response.status}`)
      return body
    },
  }
}
