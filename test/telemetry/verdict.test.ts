import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { GapStatus } from '../../src/engine/ports.ts'
import type { Facts } from '../../src/telemetry/delays.ts'
import type { ProcessStatus, ProviderStatus, StreamReading } from '../../src/telemetry/process-status.ts'
import { thresholds } from '../../src/telemetry/thresholds.ts'
import { judge } from '../../src/telemetry/verdict.ts'

const at = '2026-03-02T05:44:44Z'

function reading(of: Partial<StreamReading> = {}): StreamReading {
  return {
    ...{ app: 'a1', stream: 'app-events', lateSeconds: 0, readAt: '2026-03-02T05:44:42Z', failing: null },
    ...{ backlogSeconds: 0, oldest: null, ...of },
  }
}

function provider(of: Partial<ProviderStatus> = {}): ProviderStatus {
  return { app: 'a1', family: 'classroom', answeredAt: '2026-03-02T05:44:42Z', failing: null, ...of }
}

function processOf(of: Partial<ProcessStatus> = {}): ProcessStatus {
  return {
    ...{ owner: 'host/7/x', startedAt: '2026-03-01T00:00:00Z', isDraining: false, apps: ['a1'] },
    ...{
      acceptedLosses: [],
      providers: [provider()],
      reading: [reading()],
      budgets: [],
      lossAhead: [],
      databaseFullSince: null,
      ...of,
    },
  }
}

function facts({
  process,
  ...of
}: Partial<Omit<Facts, 'process'>> & { process?: Partial<ProcessStatus> } = {}): Facts {
  return {
    ...{ at, databaseAwaySince: null, process: processOf(process) },
    ...{ now: at, streams: [], rooms: [], gaps: [], backlog: [], deadLetters: [], divergences: 0 },
    ...{ owners: [{ owner: 'host/7/x', shards: 64, expiresAt: '2026-03-02T05:44:55Z' }], ...of },
  }
}

function gap(of: Partial<GapStatus> = {}): GapStatus {
  return {
    ...{ app: 'a1', stream: 'app-events', state: 'lost', reason: 'pause', gaps: 2 },
    ...{ recoverableUntil: null, lostToday: 2, ...of },
  }
}

describe('the verdict that a read replica tells of', () => {
  const replicaAt = '2026-03-02T05:40:00Z'
  const cause =
    /^The read replica has seen nothing that was written since .*: it does not follow, or no daemon runs/

  it('is behind where it is long behind beside a daemon, and stopped where nobody else tells', () => {
    const beside = facts({ replicaAt })
    expect(judge(beside)).toEqual({ state: 'behind', sentence: expect.stringMatching(cause) })
    const { process: _, ...alone } = beside
    expect(judge(alone)).toEqual({ state: 'stopped', sentence: expect.stringMatching(cause) })
  })

  it('is as that of the database while it follows', () => {
    expect(judge(facts({ replicaAt: '2026-03-02T05:44:30Z' })).state).toBe('well')
  })
})

it('is behind where Postgres does not know a time zone, and says what to do', () => {
  const unknownZones = [{ app: 'a1', zone: 'Europe/Kyiv' }]
  expect(judge(facts({ unknownZones }))).toEqual({
    state: 'behind',
    sentence: expect.stringMatching(/^Postgres does not know the time zone Europe\/Kyiv, .*UTC.* update/),
  })
})

const refused: NonNullable<ProviderStatus['failing']> = {
  ...{ since: '2026-03-02T05:43:00Z', last: '2026-03-02T05:44:42Z' },
  ...{ kind: 'network', kindSince: '2026-03-02T05:43:00Z' },
}

describe('the verdict', () => {
  it('says of a healthy daemon when it read last', () => {
    expect(judge(facts())).toEqual({
      state: 'well',
      sentence: 'Draining normally: last read 2 s ago, nothing in the backlog is at risk.',
    })
  })

  it('says of one that starts what it waits for', () => {
    const startedAt = '2026-03-02T05:44:40Z'
    const early = { startedAt, apps: [], providers: [], reading: [] }
    expect(judge(facts({ owners: [], process: early }))).toEqual({
      state: 'starting',
      sentence: 'Starting: the apps are being taken over.',
    })
    expect(judge(facts({ process: { ...early, apps: ['a1'] } }))).toEqual({
      state: 'starting',
      sentence: 'Starting: the first pages are being read.',
    })
  })

  it('says of a provider that is away since when, what is behind and what expires first', () => {
    const process = {
      providers: [provider({ failing: refused }), provider({ family: 'players', failing: refused })],
      reading: [
        reading({ failing: { since: refused.since, last: refused.last, reason: 'network' } }),
        reading({
          ...{ stream: 'realtime-usage', backlogSeconds: 400 },
          oldest: { expiresAt: '2026-03-02T06:30:00Z', since: '2026-03-02T05:40:00Z', turnSeconds: 0 },
        }),
      ],
    }
    expect(judge(facts({ process }))).toEqual({
      state: 'stopped',
      sentence:
        'The provider cannot be reached since 05:43 UTC; app-events 104 s behind; nothing lost yet; the first data expires at 06:30 UTC.',
    })
  })

  it('says of a disk that is full before what is late because of it', () => {
    const process = {
      databaseFullSince: '2026-03-02T05:30:00Z',
      reading: [reading({ stream: 'room-events', lateSeconds: 840 })],
    }
    expect(judge(facts({ process }))).toEqual({
      state: 'behind',
      sentence: expect.stringMatching(
        /^The disk of the database is full: pages cannot be stored since 05:30 UTC/,
      ),
    })
  })

  it('lets the provider fail for half a minute', () => {
    const failing = { ...refused, since: '2026-03-02T05:44:20Z' }
    expect(judge(facts({ process: { providers: [provider({ failing })] } })).state).toBe('well')
  })

  it('dates a failure of the provider by its own beginning, not by that of another kind', () => {
    const failing = { ...refused, since: '2026-03-02T05:20:00Z', kind: 'unauthorized' } as const
    expect(judge(facts({ process: { providers: [provider({ failing })] } })).sentence).toMatch(
      /^The provider refuses the credentials since 05:43 UTC, after other failures since 05:20 UTC;/,
    )
  })

  it.each([
    [
      'one request failed, of a service that is seldom asked',
      { since: '2026-03-02T05:43:30Z', last: '2026-03-02T05:43:30Z' },
      '05:44:00',
    ],
    [
      'it was not tried for a quarter of an hour',
      { since: '2026-03-02T05:10:00Z', last: '2026-03-02T05:29:00Z' },
      '05:20:00',
    ],
    [
      'other apps were answered for minutes',
      { since: '2026-03-02T05:10:00Z', last: '2026-03-02T05:42:00Z' },
      '05:44:30',
    ],
  ] as const)('does not say that the provider fails where %s', (_, of, answered) => {
    const providers = [
      provider({ family: 'analytics', failing: { ...refused, ...of } }),
      provider({ app: 'a2', family: 'analytics', answeredAt: `2026-03-02T${answered}Z` }),
    ]
    expect(judge(facts({ process: { providers } })).state).toBe('well')
  })

  it('is behind where refusals for a limit go on for minutes, and says what to do', () => {
    const since = '2026-03-02T05:30:00Z'
    const verdictOf = (kind: 'time_range_limit' | 'no_access', last: string) =>
      judge(
        facts({
          process: {
            providers: [provider({ family: 'analytics', refusals: [{ kind, since, last, requests: 37 }] })],
          },
        }),
      )
    expect(verdictOf('time_range_limit', '2026-03-02T05:31:00Z').state).toBe('well')
    expect(verdictOf('time_range_limit', '2026-03-02T05:40:00Z')).toEqual({
      state: 'behind',
      sentence:
        'The provider has refused 37 requests for call analytics since 05:30 UTC, the last at 05:40 UTC: the range begins before what the plan serves: correct `plan`, or lower `availableData` under `limits`; nothing lost yet.',
    })
    expect(verdictOf('no_access', since).state).toBe('behind')
    const refusals = [{ kind: 'no_access', since, last: since, requests: 5 }] as const
    const late = {
      providers: [provider({ family: 'analytics', refusals })],
      reading: [reading({ lateSeconds: 9_000 })],
    }
    expect(judge(facts({ process: late })).sentence).toMatch(
      /^app-events is 2 h late .*; the provider has refused 5 requests .*: correct `plan`, or switch the stream off\.$/,
    )
  })

  it('says of a database that is away since when, also where it has never answered', () => {
    const databaseAwaySince = '2026-03-02T05:30:00Z'
    const stopped = {
      state: 'stopped',
      sentence:
        'The database does not answer since 05:30 UTC, so nothing is asked of the provider; nothing lost yet.',
    }
    const silent = { reading: [reading({ readAt: '2026-03-02T05:29:58Z' })] }
    expect(judge(facts({ databaseAwaySince, process: silent }))).toEqual(stopped)
    expect(judge({ at, databaseAwaySince, process: processOf({ apps: [], reading: [] }) })).toEqual(stopped)
    expect(judge(facts({ databaseAwaySince: '2026-03-02T05:44:40Z' })).state).toBe('well')
  })

  it('does not call a database away that tells no status and stores pages all the same', () => {
    expect(judge(facts({ databaseAwaySince: '2026-03-02T05:30:00Z' })).state).toBe('well')
  })

  it('says of data that were lost within the day what and why', () => {
    const gaps = [gap(), gap({ stream: 'calls', reason: 'expired', lostToday: 1 })]
    expect(judge(facts({ gaps }))).toEqual({
      state: 'losing',
      sentence:
        'Data was lost within the last 24 hours: 2 ranges of app-events (nobody asked for longer than the provider remembers); 1 more range of other streams or for other reasons.',
    })
    expect(judge(facts({ gaps: [gap({ lostToday: 0 })] })).state).toBe('well')
  })

  it('says beside data that were lost what is wrong now', () => {
    const failing = {
      since: '2026-03-02T05:14:44Z',
      last: '2026-03-02T05:44:40Z',
      reason: 'store_blocked',
    } as const
    const process = { reading: [reading({ stream: 'room-events', failing })] }
    expect(judge(facts({ gaps: [gap()], process }))).toEqual({
      state: 'losing',
      sentence:
        'Data was lost within the last 24 hours: 2 ranges of app-events (nobody asked for longer than the provider remembers); now every page of room-events has failed since 05:14 UTC, the last at 05:44 UTC (store_blocked).',
    })
  })

  it('says of details that the budget cannot bring how many will be lost', () => {
    const process = { lossAhead: [{ app: 'a1', group: 'call-details', share: 0.123 }] }
    expect(judge(facts({ process }))).toEqual({
      state: 'losing',
      sentence:
        "12 % of the details of calls will be lost at today's pace: the budget call-details is too small for them; nothing lost yet.",
    })
  })

  it('calls data as good as lost that wait for longer than they can still be had', () => {
    const oldest = { expiresAt: '2026-03-02T06:04:44Z', since: '2026-03-02T05:14:44Z', turnSeconds: 600 }
    const process = {
      reading: [reading(), reading({ stream: 'realtime-usage', backlogSeconds: 60, oldest })],
    }
    expect(judge(facts({ process }))).toEqual({
      state: 'losing',
      sentence:
        'The oldest data of realtime-usage that waits to be read expires at 06:04 UTC, and none of it was read for 30 min; nothing lost yet.',
    })
    const moving = { ...oldest, since: '2026-03-02T05:44:00Z' }
    expect(
      judge(facts({ process: { reading: [reading({ stream: 'realtime-usage', oldest: moving })] } })).state,
    ).toBe('well')
  })

  it('lets the oldest of a stream wait for its turn, where a round of its series takes hours', () => {
    const told = (turnSeconds: number) => {
      const oldest = { expiresAt: '2026-03-02T05:55:00Z', since: '2026-03-02T01:44:44Z', turnSeconds }
      return judge(facts({ process: { reading: [reading({ stream: 'usage-insight', oldest })] } })).state
    }
    expect([told(36_000), told(10_800)]).toEqual(['behind', 'losing'])
  })

  it('does not count losses that the configuration accepts', () => {
    const acceptedLosses = [{ app: 'a1', stream: 'realtime-usage' }]
    const gaps = [gap({ stream: 'realtime-usage', reason: 'expired' })]
    expect(judge(facts({ gaps, process: { acceptedLosses } })).state).toBe('well')
    expect(judge(facts({ gaps })).state).toBe('losing')
    const lossAhead = [{ app: 'a1', group: 'call-details', share: 0.1 }]
    const accepted = [{ app: 'a1', stream: 'call-metrics' }]
    expect(judge(facts({ process: { lossAhead, acceptedLosses: accepted } })).state).toBe('well')
  })

  const thousand = Array.from({ length: 1_000 }, (_, n) => `a${n}`)

  it('names the one app of many that is behind, and says that the others are not', () => {
    const late = { app: 'a7', stream: 'room-events', lateSeconds: 725 }
    const all = thousand.map(app => reading({ app, ...(app === late.app && late) }))
    const providers = thousand.map(app => provider({ app }))
    expect(judge(facts({ process: { apps: thousand, providers, reading: all } }))).toEqual({
      state: 'behind',
      sentence:
        'room-events of app a7 is 12 min late (5 min is allowed); 1 of 1,000 apps behind, the others drain normally; nothing lost yet.',
    })
  })

  it('counts no app that the configuration does not name', () => {
    const streams = ['a1', 'gone'].map(app => {
      return { app, stream: 'calls', open: 1, closed: 0, backlog: 0, lastCommit: null, oldestSeconds: null }
    })
    const late = facts({ streams, process: { reading: [reading({ lateSeconds: 725 })] } })
    expect(judge(late, app => (app === 'gone' ? undefined : 0)).sentence).toBe(
      'app-events is 12 min late (5 min is allowed); nothing lost yet.',
    )
    expect(judge(late).sentence).toContain('1 of 2 apps behind')
  })

  it('looks through the apps as often for a thousand that are late as for two', () => {
    const looks = (count: number) => {
      const apps = Array.from({ length: count }, (_, n) => `a${n}`)
      const late = apps.map(app => reading({ app, lateSeconds: 720 }))
      let times = 0
      const process = Object.defineProperty(processOf({ reading: late }), 'apps', {
        get: () => {
          times += 1
          return apps
        },
      })
      expect(judge({ ...facts(), process }).state).toBe('behind')
      return times
    }
    expect(looks(1_000)).toBe(looks(2))
  })

  it('names the one app of many whose credentials are refused', () => {
    const failing = { ...refused, kind: 'unauthorized' } as const
    const providers = thousand.map(app => provider({ app, failing: app === 'a7' ? failing : null }))
    const reading_ = thousand.map(app => reading({ app }))
    expect(judge(facts({ process: { apps: thousand, providers, reading: reading_ } }))).toEqual({
      state: 'behind',
      sentence:
        'The provider refuses the credentials for classrooms of app a7 since 05:43 UTC; 1 of 1,000 apps behind, the others drain normally; nothing lost yet.',
    })
  })

  it('lets each stream be as late as its alert does', () => {
    const stateOf = (stream: string, lateSeconds: number) =>
      judge(facts({ process: { reading: [reading({ stream, lateSeconds })] } })).state
    expect([stateOf('poll', 300), stateOf('poll', 301)]).toEqual(['well', 'behind'])
    expect([stateOf('calls', 3_600), stateOf('calls', 3_601)]).toEqual(['well', 'behind'])
    expect([stateOf('usage-insight', 86_400), stateOf('usage-insight', 86_401)]).toEqual(['well', 'behind'])
  })

  it('says of a stream whose pages all fail since when', () => {
    const failing = { since: '2026-03-02T05:30:00Z', last: '2026-03-02T05:40:00Z', reason: 'malformed' }
    expect(judge(facts({ process: { reading: [reading({ stream: 'poll', failing })] } }))).toEqual({
      state: 'behind',
      sentence:
        'Every page of poll has failed since 05:30 UTC, the last at 05:40 UTC (malformed); nothing lost yet.',
    })
  })

  it('tells by the database alone who drains it, and of what nothing was stored', () => {
    const streams = [
      {
        ...{ app: 'a1', stream: 'app-events', open: 1, closed: 0, backlog: 0 },
        ...{ lastCommit: '2026-03-02T05:43:44Z', oldestSeconds: 60 },
      },
    ]
    const { process: _, ...store } = facts({ streams })
    expect(judge(store)).toEqual({
      state: 'well',
      sentence: 'Draining normally: last read 60 s ago, nothing in the backlog is at risk.',
    })
    expect(judge({ ...store, at: '2026-03-02T05:53:44Z' })).toEqual({
      state: 'behind',
      sentence: 'Nothing of app-events was stored for 10 min (5 min is allowed); nothing lost yet.',
    })
    const later = { ...store, at: '2026-03-02T05:53:44Z' }
    // Asked at moments that may be an hour apart, and of an app that the configuration does not name.
    expect([judge(later, () => 3_600).state, judge(later, () => undefined).state]).toEqual(['well', 'well'])
    expect(judge({ ...store, owners: [] })).toEqual({
      state: 'stopped',
      sentence: 'No daemon drains this database; the last page was stored at 05:43 UTC.',
    })
  })

  it('does not say that no daemon runs where this one does and nobody can take the apps', () => {
    const startedAt = '2026-03-01T00:00:00Z'
    expect(judge(facts({ owners: [], process: { startedAt, apps: [], reading: [] } }))).toMatchObject({
      state: 'stopped',
      sentence: expect.stringMatching(/^Nobody owns the apps; why this process does not, its log says; /),
    })
  })

  it('of one that waits beside the owner is told by what the database says of the owner', () => {
    const standby = {
      owner: 'other/8/y',
      apps: [],
      providers: [],
      reading: [],
      startedAt: '2026-03-02T05:44:40Z',
    }
    expect(judge(facts({ process: standby })).state).toBe('well')
    const owners = ['host/7/x', 'other/8/y'].map(owner => ({
      ...{ owner, shards: 32, expiresAt: '2026-03-02T05:44:55Z' },
    }))
    expect(judge(facts({ process: standby, owners })).state, 'it owns shards that no app lies in').toBe(
      'well',
    )
    expect(judge(facts({ process: standby, owners: owners.slice(1) })).state).toBe('starting')
  })

  it('takes the worst: data lost and the database away is stopped', () => {
    const { state, sentence } = judge(
      facts({ gaps: [gap()], databaseAwaySince: '2026-03-02T05:30:00Z', process: { reading: [] } }),
    )
    expect([state, sentence]).toEqual(['stopped', expect.stringContaining('2 ranges lost within 24 hours')])
  })

  it('of a daemon that drains before its end says so', () => {
    expect(judge(facts({ process: { isDraining: true } })).state).toBe('stopped')
  })
})

it('compares with the numbers that the alerts compare with', () => {
  const rules = parse(readFileSync('helm/penstock/rules/thresholds.yaml', 'utf8')) as {
    groups: { rules: { labels: { name: string }; expr: string }[] }[]
  }
  const named = new Map(rules.groups[0]!.rules.map(({ labels, expr }) => [labels.name, expr]))
  for (const [name, seconds] of Object.entries(thresholds)) expect(named.get(name)).toBe(`vector(${seconds})`)
})
