import type { Switches } from '../../sandbox/src/index.ts'
import type { Demands } from './demands.ts'
import type { Drawn, DrawnApp, Pace, RoomsEvery } from './draw.ts'
import {
  type Allowance,
  type AnalyticsGroup,
  allowanceOf,
  analyticsLimits,
  perDay,
  spared,
  tightened,
} from './oracle/contract.ts'
import type { Selection } from './oracle/selection.ts'
import { isDrawn, pick, type Seed } from './world.ts'

const second = 1_000
const minute = 60 * second

/** Of each group of call analytics what an app with limits of its own may do. */
export function mapOwn<Result>(say: (terms: Allowance) => Result): Record<AnalyticsGroup, Result> {
  const groups = Object.entries(analyticsLimits).map(([group, { own }]) => [group, say(own)] as const)
  return Object.fromEntries(groups) as Record<AnalyticsGroup, Result>
}

const rateNames = new Map([
  [1, 'perSecond'],
  [60, 'perMinute'],
  [86_400, 'perDay'],
])

/** Of a documented plan the requests of a day alone, as an operator writes them who leaves some to others. */
function sparedOf({ contract }: DrawnApp): string {
  const groups = (Object.keys(analyticsLimits) as AnalyticsGroup[]).flatMap(group => {
    const { rates = [] } = allowanceOf(group, contract) ?? {}
    return spared(rates)
      .filter(({ window }) => window === perDay)
      .map(({ requests }) => [group, { perDay: requests }] as const)
  })
  return `
    limits: ${JSON.stringify(Object.fromEntries(groups))}`
}

/** The limits of an app, where an operator says any. */
function limitsOf(
  app: DrawnApp,
  { tightenedAt = Number.POSITIVE_INFINITY, spares = false, at }: Demands & Told,
): string {
  const isTight = at >= tightenedAt
  if (app.contract !== 'own') return spares ? sparedOf(app) : ''
  const said = mapOwn(({ rates, availableData, timeFrame, dataDelay }) => ({
    ...Object.fromEntries(
      (isTight ? tightened(rates) : rates).map(({ requests, window }) => [rateNames.get(window), requests]),
    ),
    ...{ availableData: `${availableData}s`, timeFrame: `${timeFrame}s`, dataDelay: `${dataDelay}s` },
  }))
  return `
    limits: ${JSON.stringify(said)}`
}

/** In what the streams of an app differ from those of the others. */
function streamsOf({ id }: DrawnApp, { selection, switchedOff = [], at }: Demands & Told): string {
  const said = [
    ...switchedOff
      .filter(({ app, from, to }) => app === id && from <= at && at < to)
      .map(({ stream }) => `${stream}: off`),
    ...(selection?.app === id
      ? [`call-metrics: { select: { minUsers: ${leastUsers(selection, at)} } }`]
      : []),
  ]
  if (said.length === 0) return ''
  return `
    streams: { ${said.join(', ')} }`
}

function leastUsers({ minUsers, narrowed }: Selection, at: number): number {
  return narrowed && at >= narrowed.at ? narrowed.minUsers : minUsers
}

/** The plan that an operator says an app has. */
function planOf({ id, plan }: DrawnApp, { lowered, at }: Demands & Told): string | undefined {
  return lowered?.app === id && at >= lowered.at ? lowered.plan : plan
}

/** What a configuration says besides of its world. */
interface Told {
  /** Who is asked for one by one. */
  readonly users: readonly number[]
  /** When it says so: a moment of the run, ms. */
  readonly at: number
}

/** Under which the provider of an app signs its notifications. */
export function secretOf(app: string): string {
  return `notifications of ${app}`
}

const regions = { one: ['eu', '[eu, ap]'], two: ['[eu, ap]'] } as const

/** The configuration of a world's daemons, as an operator would write it. */
export function configOf(
  seed: Seed,
  { roomMemory, roomsEvery, realtime, listEvery }: Pace,
  { regions: inRegions, widgetPath, submitter, sequenceScope }: Switches,
  apps: Drawn['apps'],
  told: Demands & Told,
): string {
  const { feedEvery = minute, ages, isDiscreet, users, zone, answerBytes } = told
  const most = answerBytes === undefined ? '' : `, maxBodyBytes: ${answerBytes}`
  const region = pick(seed, 'configured regions', regions[inRegions])
  const each = apps.map(
    app => `
  - id: ${app.id}
    region: ${region}
    plan: ${planOf(app, told)}
    timeZone: ${zone ?? 'UTC'}
    rest: { key: ${app.rest!.key}, secret: ${app.rest!.secret} }
    classroom: { uid: penstock, token: token-${app.id} }
    notifications: { secret: ${secretOf(app.id)} }${limitsOf(app, told)}${streamsOf(app, told)}`,
  )
  const channels = isDrawn(seed, 'live channels') ? 'live' : '[]'
  const asks = (metric: string | undefined, more = '') =>
    `{ ${metric ? `metrics: [${metric}], ` : ''}channels: ${channels}${more} }`
  const ofUsers = users.length > 0 ? `, uids: [${users.join()}], usersOf: project` : ''
  return `
database: { url: embedded, poolSize: ${pick(seed, 'sessions', [2, 2, 4])} }
provider:
  classroom: { url: http://127.0.0.1:1, roomMemory: ${roomMemory / minute}m, widgetPath: ${widgetPath}, submitter: ${submitter}, sequenceScope: ${sequenceScope} }
  analytics: { url: http://127.0.0.1:1, limits: ${pick(seed, 'told limits', ['joint', 'joint'])}${most} }
  players: { url: http://127.0.0.1:1 }
schedule: { housekeeping: "*/10 * * * *" }
streams:${ofRooms(roomsEvery, told.resourcesEvery)}
  app-events: { every: ${feedEvery / second}s }
  cloud-players: { every: ${listEvery / minute}m }
  realtime-usage: ${asks(realtime?.usage)}
  realtime-quality: ${asks(realtime?.quality, ofUsers)}${ofCalls(told)}
apps:${each.join('')}
${ages ? keptForLong : ''}${isDiscreet ? unkept : ''}`
}

/** How often what belongs to a room is asked for. */
function ofRooms({ events, others }: RoomsEvery, resourcesEvery = others.active): string {
  const streams = {
    'room-events': events,
    'popup-quiz': others,
    poll: others,
    recordings: others,
    resources: { ...others, active: resourcesEvery },
  }
  return Object.entries(streams)
    .map(
      ([name, { active, idle }]) => `
  ${name}: { activeEvery: ${active / second}s, idleEvery: ${idle / minute}m }`,
    )
    .join('')
}

/** Of people nothing is kept but their IDs. */
const unkept = `store: { chat: off, names: off }
`

/** How calls, their details and their quality are asked for, where not as usual. */
function ofCalls({ callLateness, callsAt, withoutServers, products }: Demands): string {
  const said = [
    ...(callLateness === undefined ? [] : [`allowedLateness: ${callLateness}s, revisitEvery: 1m`]),
    ...(callsAt === undefined ? [] : [`cron: '${callsAt.minutes} ${callsAt.hours} * * *'`]),
  ]
  return [
    said.length > 0 ? `\n  calls: { ${said.join(', ')} }` : '',
    withoutServers ? '\n  call-sessions: { serverUsers: exclude }' : '',
    products ? `\n  quality-insight: { products: [${products.join(', ')}] }` : '',
  ].join('')
}

/** Values of calls may not go while others of their call can be fetched, nor a room before what came of its day is kept. */
const keptForLong = `retention: { samples: 16d, classroom: 26h, ${[
  'calls',
  'realtime',
  'players',
  'notifications',
  'deadLetters',
]
  .map(what => `${what}: 30h`)
  .join(', ')} }
`
