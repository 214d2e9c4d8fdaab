import {
  type AppOptions,
  type Quirks,
  roster,
  type SchoolProfile,
  type Switches,
} from '../../sandbox/src/index.ts'
import { configOf, mapOwn, secretOf } from './configuration.ts'
import { type Demands, type FaultClass, faultClasses, type Zone } from './demands.ts'
import { documentedSeries, maxima, type Plan } from './oracle/contract.ts'
import type { Selection } from './oracle/selection.ts'
import { drawSpells, type Spell, type Unreadable } from './spells.ts'
import { drawQuirks, drawSwitches, isDrawn, pick, type Seed, share } from './world.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** The world of one run, and how the daemon is told of it. */
export interface Drawn {
  readonly switches: Switches
  /** Strange content, where there is any. */
  readonly quirks: Partial<Quirks>
  readonly profile: SchoolProfile
  readonly apps: readonly DrawnApp[]
  readonly processes: number
  readonly classes: readonly FaultClass[]
  readonly spells: readonly Spell[]
  readonly unreadable: readonly Unreadable[]
  /** The configuration, as an operator would write it. */
  readonly config: string
  readonly zone?: Zone | undefined
  /** Who is asked for one by one in real time. */
  readonly users: readonly number[]
  readonly selection?: Selection | undefined
  /** What becomes of it while the daemons run, in the order of the moments, ms. */
  readonly changes: readonly { readonly at: number; readonly config: string }[]
  /** How often it has players listed, ms. */
  readonly listEvery: number
  /** Questions of real time that it leads to, where not all that is documented is asked. */
  readonly series?: Readonly<Record<string, readonly string[]>>
}

/** `contract` is its plan, or limits of its own. */
export type DrawnApp = AppOptions & { readonly contract: Plan }

/** How much goes on, and how often it is looked at. */
export interface Pace {
  readonly profile: SchoolProfile
  /** For which the provider knows a room that ended, and what the daemon is told of it, ms. */
  readonly providerMemory: number
  readonly roomMemory: number
  readonly metricSeconds: number
  readonly streams: string
  /** How often resources of a room are listed, while something happens in it and while nothing does, ms. */
  readonly resources: { readonly activeEvery: number; readonly idleEvery: number }
  /** How often players are listed, ms. */
  readonly listEvery: number
  /** What real time is asked for; all that is documented where absent. */
  readonly realtime?: { readonly usage: string; readonly quality: string }
}

/** Classes are shorter and louder than in life, so that an hour holds many lives of a room, and many events. */
const busy: Pace = {
  profile: {
    kind: 'school',
    classes: 6,
    students: 4,
    lessonMinutes: 2.5,
    breakMinutes: 0.5,
    eventsPerMinute: 40,
    historyMinutes: 2.5,
  },
  providerMemory: 12 * minute,
  roomMemory: 9 * minute,
  metricSeconds: 30,
  streams: `
  room-events: { activeEvery: 2m, idleEvery: 5m }
  popup-quiz: { activeEvery: 3m, idleEvery: 6m }
  poll: { activeEvery: 3m, idleEvery: 6m }
  recordings: { activeEvery: 3m, idleEvery: 6m }`,
  resources: { activeEvery: 3 * minute, idleEvery: 6 * minute },
  listEvery: minute,
  realtime: { usage: 'userCount', quality: 'networkDelay' },
}

/** Of a day and longer it is the budgets of a day that count, and what expires. */
const slow: Pace = {
  profile: { ...busy.profile, classes: 2, lessonMinutes: 30, breakMinutes: 30, eventsPerMinute: 4 },
  providerMemory: 60 * minute,
  roomMemory: 45 * minute,
  metricSeconds: 20,
  streams: `
  room-events: { activeEvery: 2m, idleEvery: 15m }
  popup-quiz: { activeEvery: 5m, idleEvery: 20m }
  poll: { activeEvery: 5m, idleEvery: 20m }
  recordings: { activeEvery: 5m, idleEvery: 20m }`,
  resources: { activeEvery: 5 * minute, idleEvery: 20 * minute },
  listEvery: 2 * minute,
}

/** As many classes at a time as the daily requests of the plan can measure: what is over has to be measured, too. */
const mostClasses: Readonly<Record<Plan, number>> = {
  ...{ standard: 4, premium: 6, enterprise: 12, starter: 8, own: 3 },
}

/**
 * Where each answer holds one event, a loud class is nothing but requests. The place of a room that is used again stands
 * empty until the provider has forgotten the class before.
 */
function profileOf(
  pace: Pace,
  { listShape, feedShape, roomReuse }: Switches,
  plans: readonly Plan[],
): SchoolProfile {
  const { profile } = pace
  const isOneByOne = listShape === 'item' || feedShape.startsWith('object')
  if (isOneByOne) return { ...profile, classes: 2, eventsPerMinute: 8 }
  if (pace === slow) return profile
  const most = Math.min(...plans.map(plan => mostClasses[plan]))
  return { ...profile, classes: roomReuse === 'on' ? 3 * most : most }
}

function paceOf(length: number): Pace {
  return length > 8 * hour ? slow : busy
}

/** Each draw has chance of its own, so that a new one changes nothing in the others. `length` of the faulty phase, ms. */
export function draw(number: number, length: number, demands: Demands): Drawn {
  const seed: Seed = demands.world === undefined ? number : `${number} ${demands.world}`
  const pace = paceOf(length)
  const switches = drawAll(seed, pace, demands)
  const classes = faultClasses.filter(
    one => (demands.faults?.includes(one) || isDrawn(seed, one)) && !demands.without?.includes(one),
  )
  const plan =
    demands.plan ??
    pick<Plan>(seed, 'plan', ['standard', 'premium', 'premium', 'enterprise', 'enterprise', 'starter'])
  const other =
    !demands.plan && isDrawn(seed, 'two plans')
      ? pick<Plan>(seed, 'other plan', ['standard', 'premium'])
      : plan
  const ids = demands.apps ?? pick(seed, 'apps', [['alpha'], ['alpha', 'beta']])
  const apps = ids.map((id, n) => ({
    ...{ id, uid: 'penstock', token: `token-${id}` },
    ...onTerms(demands.plans?.[id] ?? (n > 0 ? other : plan)),
    rest:
      demands.sharedKey || (!demands.ownKeys && isDrawn(seed, 'one key'))
        ? { key: 'key', secret: 'secret' }
        : { key: `key-${id}`, secret: 'secret' },
    notifications: { secret: secretOf(id) },
  }))
  const profile = {
    ...profileOf(
      pace,
      switches,
      apps.map(({ contract }) => contract),
    ),
    ...(demands.classes && { classes: demands.classes * (switches.roomReuse === 'on' ? 3 : 1) }),
    ...demands.profile,
  }
  const configAt = (at: number) => configOf(seed, pace, switches, apps, { ...demands, users, at })
  const users = demands.ofUsers ? ids.flatMap(id => usersOf(`${number}/${id}`, profile)) : []
  return {
    ...{ switches, apps, classes, profile, quirks: demands.quirks ?? drawQuirks(seed) },
    listEvery: pace.listEvery,
    processes: demands.processes ?? 1 + Math.floor(share(seed, 'processes') * 3),
    spells: classes.includes('spells') ? (demands.spells ?? drawSpells(seed, length, ids)) : [],
    unreadable: demands.unreadable ?? [],
    ...{ config: configAt(0), zone: demands.zone, users, selection: demands.selection },
    changes: changesOf(demands, length).map(at => ({ at, config: configAt(at) })),
    ...((pace.realtime || demands.products) && {
      series: {
        ...seriesOf(pace),
        ...(demands.products && { 'quality-insight': ofProducts(demands.products) }),
      },
    }),
  }
}

/** When the configuration is changed while the daemons run, ms. */
function changesOf(
  { tightenedAt, lowered, selection, switchedOff = [] }: Demands,
  length: number,
): readonly number[] {
  const moments = [
    tightenedAt,
    lowered?.at,
    selection?.narrowed?.at,
    ...switchedOff.flatMap(({ from, to }) => [from, to]),
  ]
  const known = moments.filter(at => at !== undefined && at > 0 && at <= length) as number[]
  return [...new Set(known)].toSorted((a, b) => a - b)
}

function seriesOf({ realtime }: Pace): Readonly<Record<string, readonly string[]>> {
  if (!realtime) return {}
  return {
    'realtime-usage': [`Native/${realtime.usage}`],
    'realtime-quality': [`Native/${realtime.quality}`],
  }
}

function ofProducts(products: readonly string[]): readonly string[] {
  const metrics = documentedSeries['quality-insight'].map(series => series.slice(series.indexOf('/') + 1))
  return products.flatMap(product => metrics.map(metric => `${product}/${metric}`))
}

/** Two more than one question may name, of those who are in the first class of a school, lesson after lesson. */
function usersOf(school: string, { students }: SchoolProfile): readonly number[] {
  return roster(`${school}/0`, students)
    .slice(0, maxima.uids + 2)
    .map(({ uid }) => uid)
}

/** What the sandbox is told of an app's plan, and of limits in its place. */
function onTerms(contract: Plan): Pick<DrawnApp, 'contract' | 'plan' | 'limits'> {
  if (contract !== 'own') return { contract, plan: contract }
  return { contract, plan: 'enterprise', limits: mapOwn(terms => terms) }
}

function drawAll(seed: Seed, { providerMemory, metricSeconds }: Pace, demands: Demands): Switches {
  const own = { roomMemorySeconds: providerMemory / second, metricSeconds, ...demands.switches }
  const drawn: Switches = { ...drawSwitches(seed), ...own }
  // What the feed tells of a room whose log nobody ever reads could be of any room that had its name.
  const isTold = drawn.roomReuse === 'off' || drawn.mutedRooms !== 'for-good'
  return isTold ? drawn : { ...drawn, mutedRooms: 'none' }
}

/** Where the daemon looks for rooms: it may be told of several regions that all know the same. */
/** How long after the faults have ended everything must be well, ms. */
export const healingTime = 2 * hour
