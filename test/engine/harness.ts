import type { Clock } from '../../src/clock/clock.ts'
import { createPlainQueue } from '../../src/engine/admission/queue.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import type {
  BacklogReading,
  Fence,
  Grant,
  Ledger,
  Log,
  Meter,
  Reply,
  Settlement,
  TakeResult,
  Transport,
} from '../../src/engine/ports.ts'
import type { Shortage } from '../../src/engine/ranges/shortage.ts'
import type { AppSettings, EngineSettings, StreamSettings } from '../../src/engine/settings.ts'
import type { Spent } from '../../src/planning/pacing.ts'
import type { KnownStand, Stand } from '../../src/planning/stands.ts'
import type { RangeLimits } from '../../src/planning/windows.ts'
import type { Failure, FailureKind } from '../../src/provider/errors.ts'
import { perSecond } from '../../src/provider/limits.ts'
import { Cron } from '../../src/settings/cron.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { FakeStore } from './fake-store.ts'
import type { Served } from './fake-streams.ts'

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute

export interface Asked {
  readonly at: number
  readonly app: string
  readonly operation: string
  /** First segment of the path; of an operation without a region something else. */
  readonly region: string
  readonly room: string
  readonly nextId: string | null
}

/** What the provider answers; a promise that never settles is a server that hangs. */
export type Answers = (asked: Asked) => Served | FailureKind | Failure | Promise<Served>

class FakeTransport implements Transport {
  /** Bytes of each answer. */
  size = 0
  readonly asked: Asked[] = []
  /** Paths and queries, in the same order. */
  readonly targets: string[] = []
  answers: Answers = () => ({ items: [] })
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  send: Transport['send'] = async (app, { operation, target }): Promise<Reply> => {
    const url = new URL(target, 'http://provider')
    const named = 'roomUuid' in operation.pathParams ? /\/rooms\/([^/]+)/.exec(url.pathname) : null
    const at = this.#clock.monotonic()
    const asked = {
      at,
      app,
      operation: operation.name,
      region: url.pathname.split('/')[1]!,
      room: named?.[1] ?? '',
      nextId: url.searchParams.get('nextId'),
    }
    this.asked.push(asked)
    this.targets.push(target)
    const said = await this.answers(asked)
    const timing = { receivedAt: this.#clock.now(), elapsed: this.#clock.monotonic() - at }
    if (typeof said === 'string') return { ok: false, failure: { kind: said, text: said }, timing }
    if ('kind' in said) return { ok: false, failure: said, timing }
    return {
      ok: true,
      answer: { body: said, answeredAt: this.answeredAt(), size: this.size },
      timing,
    }
  }

  clockOffset: Transport['clockOffset'] = () => undefined
  /** What the provider's clock shows in its answers. */
  answeredAt: () => number | undefined = () => undefined

  of(operation: string): readonly Asked[] {
    return this.asked.filter(each => each.operation === operation)
  }
}

export class FakeLedger implements Ledger {
  readonly taken: Grant[] = []
  readonly settled: { readonly n: number; readonly outcome: string }[] = []
  /** Answers that come before grants. */
  readonly answers: (TakeResult | Error)[] = []
  readonly setBack: number[] = []
  beforeGrant: () => Promise<void> = async () => {}
  settleError: Error | undefined
  state: Spent = { used: 0, freesIn: null, recent: 0, total: 0, sinceLast: null }
  readonly #stands = new Map<string, { readonly own: Stand; readonly until: number }>()
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  async take({ scope, group }: { readonly scope: string; readonly group: string }): Promise<TakeResult> {
    const answer = this.answers.shift()
    if (answer instanceof Error) throw answer
    if (answer) return answer
    await this.beforeGrant()
    const grant = { scope, group, n: this.taken.length + 1, clockBounds: { floor: 0, ceiling: 8.64e15 } }
    this.taken.push(grant)
    return { granted: true, grant, now: 0, ahead: 0 }
  }

  async budget(): Promise<Spent> {
    return this.state
  }

  async lastingPace(): Promise<number | null> {
    return null
  }

  async wasSetBack(ago: number): Promise<void> {
    this.setBack.push(ago)
  }

  async stands(scope: string, group: string): Promise<readonly KnownStand[]> {
    const ofBudget = [...this.#stands].filter(([key]) => key.startsWith(`${scope} ${group} `))
    return ofBudget.map(([, { own, until }]) => ({ ...own, isAwaited: this.#clock.monotonic() <= until }))
  }

  async stand(scope: string, group: string, own: Stand, awaited: number): Promise<void> {
    this.#stands.set(`${scope} ${group} ${own.app}`, { own, until: this.#clock.monotonic() + awaited })
  }

  async settle({ n }: Grant, outcome: Settlement): Promise<void> {
    const error = this.settleError
    this.settleError = undefined
    if (error) throw error
    this.settled.push({ n, outcome })
  }
}

export interface Counts {
  readonly pages: string[]
  readonly letters: string[]
  readonly debits: string[]
  readonly refusals: string[]
  /** Series of each stream that were due when this was told last. */
  readonly due: Map<string, number>
  /** Shards at each claim, or the code of what kept them from being renewed. */
  readonly owned: (number | string)[]
  /** What a stream owes, every time that it says so. */
  readonly backlog: BacklogReading[]
}

function fakeMeter(counts: Counts): Meter {
  return {
    request: () => {},
    page: ({ stream }, outcome) => counts.pages.push(`${stream} ${outcome}`),
    rows: () => {},
    commit: () => {},
    deadLetters: ({ stream }, reason, count) => counts.letters.push(`${stream} ${reason} ${count}`),
    divergences: () => {},
    ignored: () => {},
    limitViolation: (operation, kind) => counts.refusals.push(`${operation} ${kind}`),
    debit: group => counts.debits.push(group),
    schedule: ({ stream }, { series }) => counts.due.set(stream, series),
    owned: shards => counts.owned.push(shards),
    unrenewed: fault => counts.owned.push(fault.code ?? 'unrenewed'),
    storeFailed: () => {},
    left: () => {},
    backlog: (_labels, state) => counts.backlog.push(state),
    budget: () => {},
    lossAhead: () => {},
    quality: () => {},
    clockDoubt: () => {},
  }
}

export function fakeLog(said: string[]): Log {
  const say = (message: string) => void said.push(message)
  return { debug: say, info: say, warn: say, error: say }
}

export const cadence: StreamSettings = {
  activeEvery: 10 * second,
  idleEvery: 10 * minute,
  memory: hour,
  concurrency: 2,
}

/** A feed asks at one pace unless it is told otherwise. */
export const feedCadence: StreamSettings = { ...cadence, idleEvery: cadence.activeEvery }

export function appOf(
  id: string,
  streams: readonly StreamName[],
  rooms: readonly string[] = [],
  regions: readonly string[] = [],
): AppSettings {
  const limits = (scope: string): AppSettings['limits'] => ({
    classroom: { scope, rates: [perSecond(1_000)], concurrency: 8, counted: 'process' },
    'classroom-feed': { scope, rates: [perSecond(1_000)], concurrency: 1, counted: 'ledger' },
  })
  return {
    id,
    region: 'ap',
    timeZone: 'UTC',
    userLink: 'stream',
    regions: regions.map(name => ({ name, limits: limits(`${id}/${name}`) })),
    rooms,
    streams: Object.fromEntries(streams.map(name => [name, name === 'app-events' ? feedCadence : cadence])),
    windows: {},
    details: {},
    limits: limits(id),
  }
}

/** An app without streams, with a limit group of ranges that the ledger counts. */
export function appCounted(group: string, range: RangeLimits): AppSettings {
  const blank = appOf('a1', [])
  const limit = { scope: 'a1', rates: [perSecond(100)], concurrency: 2, counted: 'ledger', range } as const
  return { ...blank, limits: { ...blank.limits, [group]: limit } }
}

export function settingsOf(apps: readonly AppSettings[]): EngineSettings {
  return {
    apps,
    reading: { submitter: 'operator', sequenceScope: 'room' },
    roomMemory: hour,
    mostRooms: 10_000,
    deadline: 30 * second,
    shards: 4,
    renewEvery: 3 * second,
    housekeeping: new Cron('*/5 * * * *'),
    drainDeadline: 8 * second,
  }
}

/** All that begins can be measured. */
export const enough: Shortage = { look: async () => {}, isShort: () => false, lead: () => 0 }

export const fence: Fence = { shard: 0, owner: 'me', epoch: 1 }

/** Everything that the engine needs of the world, by hand. `chance` is always a half. */
export function createHarness(roomStreams: readonly StreamName[]) {
  const clock = new VirtualClock()
  const counts: Counts = {
    pages: [],
    letters: [],
    debits: [],
    refusals: [],
    due: new Map(),
    owned: [],
    backlog: [],
  }
  const said: string[] = []
  const log = fakeLog(said)
  const meter = fakeMeter(counts)
  return {
    clock,
    counts,
    said,
    random: { next: () => 0.5, uuid: () => '' },
    store: new FakeStore(roomStreams),
    transport: new FakeTransport(clock),
    ledger: new FakeLedger(clock),
    queue: createPlainQueue(),
    meter,
    log,
    health: createStoreHealth({ clock, log, meter }, () => {}),
  }
}
