import type { SandboxOptions, TruthLine } from '../src/index.ts'
import { type Answer, credentials, play } from './play.ts'

type EventLine = Extract<TruthLine, { kind: 'event' }>

/** The document's table of endpoints: paths of the twelve operations that change something. */
export function paths(roomUuid: string, region = 'ap', app = 'demo') {
  const v1 = `/${region}/edu/apps/${app}/v1/rooms/${encodeURIComponent(roomUuid)}`
  const v2 = `/${region}/edu/apps/${app}/v2/rooms/${encodeURIComponent(roomUuid)}`
  return {
    exit: (userUuid: string) => `${v2}/users/${encodeURIComponent(userUuid)}/exit`,
    state: (state: number | string) => `${v2}/states/${state}`,
    recording: (state: number | string) => `${v2}/records/states/${state}`,
    resource: (resourceUuid: string) => `${v1}/resources/${encodeURIComponent(resourceUuid)}`,
    resources: `${v1}/resources`,
    properties: `${v2}/properties`,
    userProperties: (userUuid: string) => `${v2}/users/${encodeURIComponent(userUuid)}/properties`,
    extAppProperties: (extAppUuid: string) => `${v2}/extApps/${encodeURIComponent(extAppUuid)}/properties`,
  }
}

type Paths = ReturnType<typeof paths>

export interface Case {
  readonly name: string
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: (at: Paths, userUuid: string) => string
  readonly body?: object
}

const file = { resourceName: 'Plan.pdf', size: 2_048, ext: 'pdf', url: 'https://files.example/plan.pdf' }

/** Each of the twelve as a request that succeeds in a class whose recording runs, except the start of one. */
export const cases: readonly Case[] = [
  { name: 'kickUser', method: 'POST', path: (at, user) => at.exit(user), body: { dirty: {} } },
  { name: 'setRoomState', method: 'PUT', path: at => at.state(2) },
  { name: 'setRecordingState', method: 'PUT', path: at => at.recording(0), body: {} },
  {
    name: 'updateRecordingConfig',
    method: 'PUT',
    path: at => at.recording(1),
    body: { webRecordConfig: { onhold: true } },
  },
  { name: 'uploadResource', method: 'PUT', path: at => at.resource('plan'), body: file },
  { name: 'deleteResources', method: 'DELETE', path: at => at.resources, body: { resourceUuids: [] } },
  { name: 'updateRoomProperties', method: 'PUT', path: at => at.properties, body: { properties: { a: 1 } } },
  { name: 'deleteRoomProperties', method: 'DELETE', path: at => at.properties, body: { properties: ['a'] } },
  {
    name: 'updateUserProperties',
    method: 'PUT',
    path: (at, user) => at.userProperties(user),
    body: { properties: { a: 1 } },
  },
  {
    name: 'deleteUserProperties',
    method: 'DELETE',
    path: (at, user) => at.userProperties(user),
    body: { properties: ['a'] },
  },
  {
    name: 'updateExtAppProperties',
    method: 'PUT',
    path: at => at.extAppProperties('clock'),
    body: { properties: { a: 1 }, common: { state: 1 } },
  },
  {
    name: 'deleteExtAppProperties',
    method: 'DELETE',
    path: at => at.extAppProperties('clock'),
    body: { properties: ['a'] },
  },
]

export const uploaded = file

/** One silent room with a teacher and some students, whose class goes on; nothing happens in it by itself. */
export const silent = { kind: 'backlog', rooms: 1, eventsPerRoom: 60 } as const

/** The sandbox with one room in view, and requests that change it. */
export function stageRoom(options: Partial<SandboxOptions> = {}) {
  const stage = play({ profile: silent, ...options })
  const { roomUuid } = stage.running()
  const view = () => {
    const room = stage.sandbox.room('demo', roomUuid)
    if (!room) throw new Error('the room is not there')
    return room
  }
  const before = stage.linesOf('event', roomUuid).length
  return {
    ...stage,
    roomUuid,
    at: paths(roomUuid),
    send: sender(stage.sandbox),
    view,
    /** Students who are there. */
    students: () => view().present.slice(1),
    /** What the log tells that was not there at the beginning. */
    told: (): readonly EventLine[] => stage.linesOf('event', roomUuid).slice(before),
  }
}

type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>

const json = { ...credentials, 'content-type': 'application/json' }

/** Sends a body as it stands where it is a text, else as JSON. */
export function sender(sandbox: { fetch(request: Request): Promise<Response> }): Send {
  return async (method, path, body, headers = json) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const init = { method, headers, ...(text !== undefined && { body: text }) }
    const response = await sandbox.fetch(new Request(`http://sandbox${path}`, init))
    const answer = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: answer,
      body: answer.startsWith('{') && JSON.parse(answer),
    }
  }
}

/** Status and business code: what the document's table of errors tells apart. */
export function verdict({ status, body }: Answer): readonly [status: number, code: number | undefined] {
  return [status, body.code]
}

/** Which event it is and what it says, in the order of the log. */
export function shown(events: readonly EventLine[]): readonly (readonly [cmd: number, data: object])[] {
  return events.map(({ cmd, data }) => [cmd, data])
}

export const success = [200, 0] as const
export const wrong = [400, 400] as const
export const noRoom = [404, 20_404_100] as const
export const noUser = [404, 20_404_200] as const
export const notFound = [404, undefined] as const

/** Who came and who went, in order. */
export function movements(stage: { readonly told: () => readonly EventLine[] }, from = 0) {
  return stage
    .told()
    .slice(from)
    .filter(({ cmd }) => cmd === 20)
    .flatMap(({ data, at }) => {
      const { onlineUsers, offlineUsers } = data as Record<string, { userUuid: string }[]>
      return [
        ...onlineUsers!.map(({ userUuid }) => ({ userUuid, did: 'enter', at })),
        ...offlineUsers!.map(({ userUuid }) => ({ userUuid, did: 'leave', at })),
      ]
    })
}
