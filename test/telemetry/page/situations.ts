import type { Span, StoreStatus, Timeline } from '../../../src/engine/ports.ts'
import { streams } from '../../../src/streams/index.ts'
import type { PageFacts } from '../../../src/telemetry/page/parts.ts'
import type { ProcessStatus, StreamReading } from '../../../src/telemetry/process-status.ts'
import type { Status } from '../../../src/telemetry/status.ts'
import { judge } from '../../../src/telemetry/verdict.ts'

/* What the page shows: made by hand, so that each situation is there at any time. */

const now = Date.parse('2026-03-02T05:44:44Z') / 1_000
const iso = (second: number) => new Date(second * 1_000).toISOString()
const ago = (seconds: number) => iso(now - seconds)

const titles = Object.values(streams).map(({ name, title }) => ({ name, title }))
const byTime: readonly string[] = [
  'calls',
  'usage-insight',
  'quality-insight',
  'realtime-usage',
  'realtime-quality',
]
const delays: Readonly<Record<string, number>> = {
  calls: 60,
  'usage-insight': 43_200,
  'quality-insight': 21_600,
}

interface Situation {
  readonly apps?: readonly string[]
  readonly startedAt?: number
  readonly owners?: StoreStatus['owners']
  readonly databaseAwaySince?: number
  readonly providersAwaySince?: number
  readonly gaps?: StoreStatus['gaps']
  readonly deadLetters?: StoreStatus['deadLetters']
  readonly lost?: readonly Span[]
  readonly late?: Readonly<Record<string, number>>
  readonly isEmpty?: boolean
}

function factsOf(situation: Situation): PageFacts {
  const {
    apps = ['0a1b2c'],
    startedAt = now - 90_000,
    databaseAwaySince,
    providersAwaySince,
    gaps = [],
  } = situation
  const away = databaseAwaySince ?? providersAwaySince
  const readAt = (name: string) => (away ?? now) - (name.endsWith('-insight') ? 7_200 : 2)
  const failing =
    away === undefined
      ? null
      : { since: iso(away), last: ago(2), reason: databaseAwaySince ? 'store unavailable' : 'network' }
  const pairs = situation.isEmpty ? [] : apps.flatMap(app => titles.map(({ name }) => ({ app, name })))
  const reading = pairs.map(
    ({ app, name }): StreamReading => ({
      ...{ app, stream: name, readAt: iso(readAt(name)), failing },
      lateSeconds: situation.late?.[`${app} ${name}`] ?? 0,
      backlogSeconds: 0,
      oldest:
        name === 'realtime-usage' ? { expiresAt: iso(now + 2_716), since: ago(20), turnSeconds: 150 } : null,
    }),
  )
  const process: ProcessStatus = {
    ...{ owner: 'penstock-0/7/5d0c', startedAt: iso(startedAt), isDraining: false },
    apps: situation.isEmpty ? [] : apps,
    acceptedLosses: [],
    providers: situation.isEmpty
      ? []
      : apps.flatMap(app =>
          (['classroom', 'analytics', 'players'] as const).map(family => ({
            ...{ app, family, answeredAt: iso(away ?? now - 1) },
            failing: providersAwaySince
              ? {
                  ...{ since: iso(providersAwaySince), last: ago(2), kind: 'network' as const },
                  kindSince: iso(providersAwaySince),
                }
              : null,
          })),
        ),
    reading,
    budgets: situation.isEmpty
      ? []
      : [
          { group: 'call-search', usedRatio: 0.31, pace: 0.9 },
          { group: 'call-details', usedRatio: 0.62, pace: 1.4 },
          { group: 'usage-insight', usedRatio: 0.125, pace: 0.2 },
          { group: 'quality-insight', usedRatio: 0.1, pace: 0 },
          { group: 'realtime', usedRatio: 0.44, pace: 1 },
        ],
    lossAhead: [],
    databaseFullSince: null,
  }
  const store: StoreStatus = {
    now: iso(now),
    streams: pairs.map(({ app, name }) => ({
      ...{ app, stream: name, open: 12, closed: 3_401, backlog: 0, oldestSeconds: 40 },
      lastCommit: iso(readAt(name)),
    })),
    rooms: situation.isEmpty
      ? []
      : apps.flatMap(app => [
          { app, state: 'started', rooms: 12 },
          { app, state: 'ended', rooms: 3 },
          { app, state: 'forgotten', rooms: 3_398 },
        ]),
    gaps,
    backlog: pairs
      .filter(({ name }) => byTime.includes(name) || name.startsWith('call-'))
      .map(({ app, name }) => ({
        ...{ app, stream: name, series: 1, seconds: 3_600, longestSeconds: 3_600, longestUnreadSeconds: 90 },
        ...{
          items: name.startsWith('call-') ? 3 : 0,
          oldest: ago(3_600),
          longestLostSeconds: 0,
          lostItems: 0,
        },
      })),
    deadLetters: situation.deadLetters ?? [],
    divergences: 0,
    owners: situation.owners ?? [{ owner: process.owner, shards: 64, expiresAt: iso(now + 11) }],
  }
  const facts = {
    ...{
      at: iso(now),
      databaseAwaySince: databaseAwaySince ? iso(databaseAwaySince) : null,
      process,
      ...store,
    },
  }
  const { state, sentence } = judge(facts)
  const status: Status = {
    verdict: { state, sentence, since: iso(away ?? startedAt) },
    ...{ version: '0.1.0', shards: 64, apps, databaseAnswers: databaseAwaySince === undefined },
    readSecondsAgo: databaseAwaySince ? now - databaseAwaySince : 1,
    ...facts,
  }
  const timelines = pairs.map(({ app, name }): Timeline => {
    const isByTime = byTime.includes(name)
    const seen = (away ?? now) - (delays[name] ?? 40)
    const begins = now - (name.startsWith('realtime-') ? 90_000 : 700_000)
    const isLosing = situation.lost && (name === 'app-events' || name === 'realtime-usage')
    const covered: readonly Span[] = [[begins, seen - (name === 'calls' ? 3_600 : 120)]]
    return {
      ...{ app, stream: name, isByTime, begins },
      complete: isByTime ? covered : [],
      seen: isByTime ? [[begins, seen]] : [],
      waiting: name === 'call-metrics' ? [[now - 5_400, now - 3_000]] : [],
      lost: isLosing ? situation.lost! : [],
    }
  })
  return { status, timelines, streams: titles, app: undefined, span: undefined }
}

const gap = { app: '0a1b2c', recoverableUntil: null, lostToday: 0 } as const
const thousand = Array.from({ length: 1_000 }, (_, n) => `app-${String(n).padStart(4, '0')}`)

export const situations = {
  healthy: factsOf({}),
  starting: factsOf({ startedAt: now - 4, owners: [], isEmpty: true }),
  'provider-away': factsOf({ providersAwaySince: now - 104 }),
  'database-away': factsOf({ databaseAwaySince: now - 840 }),
  losing: factsOf({
    lost: [[now - 30_000, now - 22_000]],
    gaps: [
      { ...gap, stream: 'app-events', state: 'lost', reason: 'pause', gaps: 2, lostToday: 2 },
      { ...gap, stream: 'realtime-usage', state: 'lost', reason: 'expired', gaps: 3, lostToday: 3 },
      {
        ...gap,
        stream: 'room-events',
        state: 'open',
        reason: 'hole',
        gaps: 1,
        recoverableUntil: iso(now + 1_500),
      },
    ],
    deadLetters: [{ app: '0a1b2c', stream: 'poll', reason: 'wrong_type', letters: 4, lastSeen: ago(4_000) }],
  }),
  'one-app-behind': factsOf({
    apps: ['0a1b2c', '1b2c3d', '2c3d4e', '3d4e5f', '4e5f60'],
    late: { '2c3d4e room-events': 725 },
  }),
} as const satisfies Readonly<Record<string, PageFacts>>

export const thousandApps = factsOf({ apps: thousand, late: { 'app-0007 room-events': 725 } })
