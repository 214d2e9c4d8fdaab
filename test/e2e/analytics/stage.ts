import {
  type AppOptions,
  type CallsProfile,
  createSandbox,
  type FaultRule,
  type Quirks,
  type Sandbox,
  type Switches,
} from '../../../sandbox/src/index.ts'
import type { Clock } from '../../../src/clock/clock.ts'
import { systemClock } from '../../../src/clock/system.ts'
import { type Plan, perDay, perMinute } from '../../../src/provider/limits.ts'
import { type Addresses, openSetting, type Setting } from '../setting.ts'

/** A world of calls in real time, and how a daemon is set up to drain it. */
export interface CallWorld {
  /** The seed too. */
  readonly name: string
  readonly plan?: Plan
  /** Projects that share one credential; one unless told. */
  readonly apps?: number
  readonly load?: Partial<Omit<CallsProfile, 'kind'>>
  readonly switches?: Partial<Switches>
  readonly quirks?: Partial<Quirks>
  readonly faults?: readonly FaultRule[]
  /** Seconds of a call that one request may ask for, where the contract has another number than the document. */
  readonly detailSpan?: number
  readonly servers?: 'include' | 'exclude'
  /** Whose real-time values are asked for: the project's alone, or a channel's and two of its users' besides. */
  readonly watch?: 'project' | 'channel'
  /** Streams that the provider gives nothing of. */
  readonly without?: readonly string[]
  /** Granularity of quality insights. */
  readonly qualityBy?: 'minute' | 'hour'
}

export interface CallStage extends Setting {
  readonly world: CallWorld
  readonly apps: readonly string[]
  readonly subjects: Subjects
  /** When the world began, Unix ms. */
  readonly origin: number
}

/** Whose real-time values are drained. */
export interface Subjects {
  /** '' is the whole project. */
  readonly channels: readonly string[]
  /** Of the last channel. */
  readonly users: readonly number[]
}

/** Planted where credentials are: whatever it stands in has leaked. */
const canary = 'canary-7f3a'
export const rest = { key: `key-${canary}`, secret: `secret-${canary}` } as const
export const canaries = new RegExp(`${canary}|${btoa(`${rest.key}:${rest.secret}`).slice(0, 24)}`)

/** Total deadline of a request, seconds: how long a request that was killed may still arrive. */
const deadline = 2

/** A contract with more insights a day than the document has, so that a minute is enough to read some frames. */
const insightsADay = 600

/** Little enough to be read in one go, within what the pace lends for a burst. */
const load: CallsProfile = { kind: 'calls', callsPerDay: 72, users: 5, minutes: 12, days: 1 }

const appIds = ['alpha', 'beta'] as const

export async function openCallStage(
  world: CallWorld,
  serve?: (sandbox: Sandbox) => Sandbox,
): Promise<CallStage> {
  const { clock, origin } = clockFrom(systemClock)
  const apps = appIds.slice(0, world.apps ?? 1).map((id): AppOptions => {
    const insights = { rates: [perMinute(10), perDay(insightsADay)] }
    const limits = {
      ...{ 'usage-insight': insights, 'quality-insight': insights },
      ...(world.detailSpan ? { 'call-details': { timeFrame: world.detailSpan } } : {}),
    }
    return { id, uid: 'penstock', token: `token-${canary}`, plan: world.plan ?? 'enterprise', rest, limits }
  })
  const told: { subjects: Subjects } = { subjects: { channels: [''], users: [] } }
  const setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock, seed: world.name, apps, faults: world.faults ?? [] },
        profile: { ...load, ...world.load },
        switches: { metricSeconds: 60, restatementHours: 4, ...world.switches },
        ...(world.quirks ? { quirks: world.quirks } : {}),
      }),
    ...(serve ? { serve } : {}),
    configOf: (addresses, sandbox) => {
      if (world.watch === 'channel') told.subjects = livelyChannel(sandbox, apps[0]!.id)
      return configOf(addresses, world, apps, told.subjects)
    },
  })
  return { ...setting, world, apps: apps.map(({ id }) => id), subjects: told.subjects, origin: origin() }
}

/** The clock, and what it said when it was first asked: that is when a sandbox that is made with it begins. */
function clockFrom(clock: Clock): { readonly clock: Clock; readonly origin: () => number } {
  let first: number | undefined
  const now = () => {
    const at = clock.now()
    first ??= at
    return at
  }
  return { clock: { ...clock, now }, origin: () => first! }
}

/** The channel of the latest call, and two of those who are or were in it. */
function livelyChannel(sandbox: Sandbox, app: string): Subjects {
  const [call] = [...sandbox.analytics(app).calls()].toSorted((a, b) => b.createdAt - a.createdAt)
  const native = call!.sessions.filter(({ platform, user }) => platform !== 'Web' && user === 'person')
  return { channels: ['', call!.cname], users: native.slice(0, 2).map(({ uid }) => uid) }
}

function configOf(
  { databaseUrl, providerUrl }: Addresses,
  { plan = 'enterprise', detailSpan, servers = 'include', qualityBy = 'hour' }: CallWorld,
  apps: readonly AppOptions[],
  { channels, users }: Subjects,
): object {
  const named = channels.filter(channel => channel !== '')
  const off = ['app-events', 'room-events', 'popup-quiz', 'poll', 'recordings', 'resources']
  return {
    database: { url: databaseUrl, poolSize: 4 },
    http: { listen: '127.0.0.1:0' },
    provider: {
      classroom: { url: providerUrl, deadline: `${deadline}s` },
      analytics: { url: providerUrl, deadline: `${deadline}s` },
    },
    streams: {
      ...Object.fromEntries(off.map(stream => [stream, 'off'])),
      calls: { every: '10s', allowedLateness: '1m', revisitEvery: '1m' },
      'call-sessions': { serverUsers: servers },
      'usage-insight': { metrics: ['userCount'], granularities: ['hour'] },
      'quality-insight': { metrics: ['networkDelay'], granularities: [qualityBy] },
      'realtime-usage': { every: '20s', metrics: ['userCount'], channels: named },
      'realtime-quality': { every: '20s', metrics: ['audioFreezeRate'], channels: named, uids: users },
    },
    ...(plan === 'starter' ? {} : { limits: limitsOf(detailSpan) }),
    apps: apps.map(({ id, uid, token }) => ({
      id,
      region: 'eu',
      plan,
      rest,
      classroom: { uid, token },
    })),
  }
}

function limitsOf(detailSpan: number | undefined): object {
  return {
    'usage-insight': { perDay: insightsADay },
    'quality-insight': { perDay: insightsADay },
    ...(detailSpan ? { 'call-details': { timeFrame: `${detailSpan}s` } } : {}),
  }
}
