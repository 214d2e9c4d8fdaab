import type { SandboxOptions } from '../src/index.ts'
import { basic, demoCredential } from './analytics-play.ts'
import { play } from './play.ts'

export interface ListedPlayer {
  readonly id: string
  readonly name?: string | null
  readonly createTs: number
  readonly status?: string
  readonly streamUrl?: string
  readonly channelName?: string
  readonly uid?: number
  readonly account?: string
}

export interface PlayerBody {
  readonly message: string
  readonly player: ListedPlayer
  readonly fields: string
  readonly totalSize: number
  readonly players: readonly ListedPlayer[]
  readonly nextPageToken: string
}

export interface PlayerReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: PlayerBody
}

type Headers_ = Readonly<Record<string, string>>

/** No classes: the players of these tests are all there are. */
const empty = { kind: 'idle', rooms: 0 } as const

/** A live stream that plays until someone ends it. */
export const stream = { streamUrl: 'rtmp://live.example/stage/1', channelName: 'stage', uid: 7 } as const

const root = 'projects/demo/cloud-player/players'

/** Milliseconds that pass before a request, so that no limit is met. */
const paces = { create: 510, list: 4_010, remove: 20 } as const

/** The cloud players of an app whose streams can be played unless they say otherwise. */
export function playPlayers(options: Partial<SandboxOptions> = {}) {
  const { switches, ...rest } = options
  const stage = play({ profile: empty, switches: { playerFailRate: 0, ...switches }, ...rest })
  const { sandbox, clock } = stage
  const send = async (
    method: string,
    target: string,
    { body, headers = demoCredential }: { readonly body?: unknown; readonly headers?: Headers_ } = {},
  ): Promise<PlayerReply> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = method === 'POST' && { 'content-type': 'application/json' }
    const request = new Request(`http://sandbox/${target}`, {
      method,
      headers: { ...type, ...headers },
      ...(body !== undefined && { body: text }),
    })
    const response = await sandbox.fetch(request)
    const answered = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: answered,
      body: answered === '' ? undefined : JSON.parse(answered),
    }
  }
  return {
    ...stage,
    send,
    create: async (body: unknown, { region = 'ap', query = '', headers = demoCredential } = {}) => {
      await clock.advance(paces.create)
      return send('POST', `${region}/v1/${root}${query}`, { body, headers })
    },
    /** A player that must be made. */
    make: async (fields: Readonly<Record<string, unknown>> = {}, region = 'ap') => {
      await clock.advance(paces.create)
      const made = await send('POST', `${region}/v1/${root}`, { body: { ...stream, ...fields } })
      if (made.status !== 200) throw new Error(`${made.status} ${made.text}`)
      return made.body.player.id
    },
    remove: async (id: string, { region = 'ap', headers = demoCredential } = {}) => {
      await clock.advance(paces.remove)
      return send('DELETE', `${region}/v1/${root}/${id}`, { headers })
    },
    list: async (query: Readonly<Record<string, string>> = {}, headers = demoCredential) => {
      await clock.advance(paces.list)
      return send('GET', `v1/${root}?${new URLSearchParams(query)}`, { headers })
    },
    truth: (id: string) => {
      const player = sandbox.players('demo').find(one => one.id === id)
      if (!player) throw new Error(`there was no player ${id}`)
      return player
    },
    violations: () => {
      const { violationsByKind } = sandbox.status()
      return Object.fromEntries(Object.entries(violationsByKind).filter(([, count]) => count > 0))
    },
  }
}

export { basic, demoCredential }
export const paths = {
  create: `ap/v1/${root}`,
  list: `v1/${root}`,
  remove: (id: string) => `ap/v1/${root}/${id}`,
} as const
