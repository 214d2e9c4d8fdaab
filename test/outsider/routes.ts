import { type Asked, type Inner, type Operation, Refusal } from './app.ts'
import { newMemory, pageOf } from './lists.ts'
import type { Group, Meters } from './meters.ts'
import {
  type Question,
  tellCalls,
  tellInsight,
  tellMetrics,
  tellRealtime,
  tellSessions,
} from './tell-analytics.ts'
import { type Told, tellEvents, tellFile, tellRecordings } from './tell-classroom.ts'
import { createPlayer, deletePlayer, playersOf, tellPlayers } from './tell-players.ts'
import { tellPoll, tellQuiz } from './tell-widgets.ts'
import { openRoom } from './world.ts'

/** The operations that are polled, and two that are asked for by hand, by their paths. */

export interface Tools {
  readonly meters: Meters
  readonly breach: (what: string) => void
}

export type Family = 'classroom' | 'analytics' | 'players'

export interface Route {
  readonly operation: Operation
  readonly family: Family
  /** GET, where none is named. */
  readonly method?: 'POST' | 'DELETE'
  readonly path: RegExp
  tell(asked: Asked, groups: Readonly<Record<string, string>>, tools: Tools): Told
}

const edu = '^/ap/edu/apps/(?<app>[^/]+)'
const room = '/rooms/(?<room>[^/]+)'

function roomRoute(operation: Operation, path: string): Route {
  return {
    operation,
    family: 'classroom',
    path: new RegExp(`${path}$`),
    tell: (asked, { room: encoded = '' }) => tellRoom(operation, asked, decodeURIComponent(encoded)),
  }
}

export const routes: readonly Route[] = [
  {
    operation: 'feed',
    family: 'classroom',
    path: /^\/ap\/edu\/polling\/apps\/(?<app>[^/]+)\/v2\/rooms\/sequences$/,
    tell: ({ app, at }) => ({ code: 0, msg: 'Success', ts: at, ...tellFeed(app) }),
  },
  roomRoute('log', `${edu}/v2${room}/sequences`),
  roomRoute('recordings', `${edu}/v2${room}/records`),
  roomRoute('resources', `${edu}/v1${room}/resources`),
  roomRoute('quiz', `^/edu/apps/(?<app>[^/]+)/v2${room}/widgets/popupQuiz/sequences`),
  roomRoute('poll', `^/edu/apps/(?<app>[^/]+)/v2${room}/widgets/poll/sequences`),
  analyticsRoute('calls', 'search', '/beta/analytics/call/lists', tellCallList),
  analyticsRoute('sessions', 'details', '/beta/analytics/call/sessions', (asked, question, { breach }) => {
    const has = (name: string) => question.params.has(name)
    if (!has('page_no') || !has('page_size')) breach('page_no and page_size are given together')
    return tellSessions(asked.app.plan.reading, callOf(asked, question), question)
  }),
  analyticsRoute('metrics', 'details', '/beta/analytics/call/metrics', (asked, question, { breach }) => {
    if ((question.params.get('sids') ?? '').split(',').length > 20) breach('more than 20 sids')
    return tellMetrics(asked.app.plan.reading, callOf(asked, question), question)
  }),
  analyticsRoute('usage', 'usage', '/beta/insight/usage/by_time', insight),
  analyticsRoute('quality', 'quality', '/beta/insight/quality/by_time', insight),
  analyticsRoute('realtime-usage', 'realtime', '/beta/realtime/usage/by_time_20sec', realtime),
  analyticsRoute('realtime-quality', 'realtime', '/beta/realtime/quality/by_time_20sec', realtime),
  {
    operation: 'players',
    family: 'players',
    path: /^\/v1\/projects\/(?<app>[^/]+)\/cloud-player\/players$/,
    tell: ({ app, url, at }, _, { meters }) => {
      const message = meters.arrive('players', app.plan.id, at)
      if (message) throw new Refusal(429, { message })
      return tellPlayers(app.plan.reading, playersOf(app), app.act, url.searchParams)
    },
  },
  {
    operation: 'create-player',
    family: 'players',
    method: 'POST',
    path: /^\/(?<region>[^/]+)\/v1\/projects\/(?<app>[^/]+)\/cloud-player\/players$/,
    tell: ({ app, body, at }, { region = '' }) => createPlayer(app, region, body, at),
  },
  {
    operation: 'delete-player',
    family: 'players',
    method: 'DELETE',
    path: /^\/(?<region>[^/]+)\/v1\/projects\/(?<app>[^/]+)\/cloud-player\/players\/(?<id>[^/]+)$/,
    tell: ({ app }, { region = '', id = '' }) => deletePlayer(app, region, id),
  },
]

function tellFeed(app: Inner): Told {
  const { reading } = app.plan
  const all = feedOf(app)
  const isOne = reading.feed.startsWith('one')
  const repeats = reading.feedMemory === 'repeats all'
  const from = repeats && !isOne ? 0 : app.fed
  const some = all.slice(from, from + (isOne ? 1 : 100))
  app.fed = repeats && isOne && from + 1 >= all.length ? 0 : from + some.length
  if (some.length === 0 && reading.feedIdle !== 'as its shape') {
    return { 'no data': {}, null: { data: null }, '{}': { data: {} } }[reading.feedIdle]
  }
  switch (reading.feed) {
    case 'array':
      return { data: some }
    case 'one event':
      return { data: some[0] ?? {} }
    case 'one event and nextId':
      return { data: { ...some[0], nextId: `f${app.fed}` } }
    case 'list and nextId':
      return { data: { list: some, nextId: `f${app.fed}`, count: some.length } }
    default:
      return { data: { [reading.feed]: some } }
  }
}

/** Events of all rooms, one of each in turn. */
function feedOf({ world, plan, act }: Inner): readonly Told[] {
  const acts = [0, 1].map(until => {
    const logs = world.rooms.map((each, index) => tellEvents(plan.reading, each, index, until))
    return logs.map((log, index) => (until === 0 ? log : log.slice(world.rooms[index]!.log[0].length)))
  })
  return acts.slice(0, act + 1).flatMap(logs => {
    const most = Math.max(...logs.map(log => log.length))
    return Array.from({ length: most }, (_, place) => logs.flatMap(log => log.slice(place, place + 1))).flat()
  })
}

function tellRoom(operation: Operation, { app, url, at }: Asked, uuid: string): Told {
  const { reading } = app.plan
  const index = app.world.rooms.findIndex(each => each.uuid === uuid)
  const it = app.world.rooms[index]
  if (!it) throw missing(at)
  const refusal = app.plan.refuse?.(uuid)
  if (refusal) throw refusal
  if (isMissing(app, operation, uuid)) throw missing(at)
  const head = { code: 0, msg: 'Success', ts: at }
  if (operation === 'resources') {
    const files = it.files[app.act > 0 ? 1 : 0]
    const lapses = reading.resourcesLapse === 'never' || app.act === 0 || files.length === 0 ? 0 : 2
    if (app.lapses < lapses) {
      app.lapses++
      return head
    }
    const none = { '[]': [], null: null, absent: undefined }[reading.noResources]
    return { ...head, data: files.length > 0 ? files.map(file => tellFile(reading, file)) : none }
  }
  const all = itemsOf(operation, app, index)
  const { searchParams: params } = url
  const key = `${operation} ${uuid}`
  const memory = app.memories.get(key) ?? newMemory()
  app.memories.set(key, memory)
  const most = Math.min(Number(params.get('count') ?? 100), 100)
  const page = pageOf(reading, memory, all, params.get('nextId'), most)
  if (!page) throw new Refusal(400, { code: 400, msg: 'Request parameter incorrect', ts: at })
  return { ...head, ...page }
}

function missing(at: number): Refusal {
  return new Refusal(404, { code: 20_404_100, msg: 'Classroom does not exist', ts: at })
}

/** The room that goes on is missing until its log was asked for in vain. */
function isMissing(app: Inner, operation: Operation, room: string): boolean {
  const { id, reading } = app.plan
  const hasBegun = {
    never: false,
    'once at first': true,
    'once in between': app.memories.has(`log ${room}`),
  }[reading.missingRoom]
  if (room !== openRoom(id) || app.wasMissing || !hasBegun) return false
  app.wasMissing = operation === 'log'
  return true
}

function itemsOf(operation: Operation, app: Inner, index: number): readonly Told[] {
  const { reading } = app.plan
  const it = app.world.rooms[index]!
  switch (operation) {
    case 'log':
      return tellEvents(reading, it, index, app.act)
    case 'quiz':
      return tellQuiz(reading, it, app.act)
    case 'poll':
      return tellPoll(reading, it, app.act)
    default: {
      // Files come when the ended recordings have been looked at twice without.
      if (app.act > 0 && it.recordings.length > 0) app.recordingsAsked++
      return tellRecordings(reading, it, app.recordingsAsked > 2 ? 2 : app.act)
    }
  }
}

function analyticsRoute(
  operation: Operation,
  group: Group,
  path: string,
  tell: (asked: Asked, question: Question, tools: Tools) => Told,
): Route {
  return {
    operation,
    family: 'analytics',
    path: new RegExp(`^${path}$`),
    tell: (asked, _, tools) => {
      const { app, url, at } = asked
      const { reading } = app.plan
      const params = url.searchParams
      const from = Number(params.get('start_ts') ?? params.get('startTs') ?? Number.NaN)
      const to = Number(params.get('end_ts') ?? params.get('endTs') ?? Number.NaN)
      const { meters } = tools
      const message = meters.arrive(group, app.plan.id, at) ?? meters.range(group, from, to, at)
      if (message) throw new Refusal(200, { code: 300, message, requestId: 'r' })
      const text = { text: 'success', null: null, absent: undefined }[reading.message]
      const requestId = group === 'search' || group === 'details' ? { requestId: `r-${at}` } : {}
      const question: Question = { params, from, to, now: at / 1000 }
      return { code: Number(reading.code), message: text, ...requestId, ...tell(asked, question, tools) }
    },
  }
}

function tellCallList({ app }: Asked, question: Question): Told {
  const { reading } = app.plan
  if (reading.limitRefusal !== 'none' && !app.hasRefused) {
    app.hasRefused = true
    throw new Refusal(Number(reading.limitRefusal), { code: 300, message: 'qps limit error', requestId: 'r' })
  }
  return tellCalls(reading, app.world, question)
}

function callOf({ app }: Asked, { params }: Question) {
  const call = app.world.calls.find(({ id }) => id === params.get('call_id'))
  if (!call) throw new Refusal(400, { code: 400, message: 'Invalid parameters', requestId: 'r' })
  return call
}

function insight({ app }: Asked, question: Question): Told {
  return tellInsight(app.plan.reading, question)
}

function realtime({ app }: Asked, question: Question): Told {
  return tellRealtime(app.plan.reading, question)
}
