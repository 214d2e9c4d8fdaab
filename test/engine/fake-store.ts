import type {
  AppFacts,
  CommitResult,
  DeadLetter,
  Fence,
  ItemCommit,
  OpenSeries,
  PageCommit,
  Progress,
  Store,
  WantedRoom,
  WindowCommit,
} from '../../src/engine/ports.ts'
import type { StreamName } from '../../src/streams/stream.ts'
import { FakeRangeStore } from './fake-ranges.ts'
import type { Thing } from './fake-streams.ts'

type Method = keyof Store

interface Series {
  progress: Progress
  closed: boolean
}

/** What the store knows of a room when a process begins. */
type KnownRoom = Pick<OpenSeries, 'lastEventAt' | 'besideReadAgo'>

/** A store in memory. Any method can be made to fail, or a commit to answer something else, a number of times. */
export class FakeStore extends FakeRangeStore implements Store {
  /** Apps in the order in which they began. */
  readonly noted: string[] = []
  readonly commits: PageCommit[] = []
  readonly letters: DeadLetter[] = []
  readonly forgotten: string[] = []
  readonly facts: AppFacts[] = []
  readonly vouched: string[] = []
  /** A room whose log cannot be read may be another one by now. */
  isAnother = false
  readonly calls: Method[] = []
  readonly stored = new Set<string>()
  /** What the app's feed may have lost and the ledger does not know yet. */
  unread = 0
  openGaps = 0
  readonly #series = new Map<string, Series>()
  readonly #roomStreams: readonly StreamName[]
  readonly #failures = new Map<Method, Error[]>()
  readonly #answers: CommitResult[] = []

  constructor(roomStreams: readonly StreamName[]) {
    super()
    this.#roomStreams = roomStreams
  }

  fail(method: Method, error: Error, times = 1): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), ...Array(times).fill(error)])
  }

  heal(): void {
    this.#failures.clear()
  }

  answerNextCommit(result: CommitResult): void {
    this.#answers.push(result)
  }

  isClosed(stream: StreamName, series: string): boolean {
    return this.#series.get(`${stream} ${series}`)?.closed ?? false
  }

  put(stream: StreamName, series: string, progress: Partial<Progress> = {}): void {
    const blank = { version: 0, cursor: null, streamState: null, certain: false }
    this.#series.set(`${stream} ${series}`, { progress: { ...blank, ...progress }, closed: false })
  }

  /** Of rooms of which more is known than that there is one. */
  readonly known = new Map<string, KnownRoom>()

  /** Hours of the week in which apps had classes. */
  readonly hours = new Map<string, ReadonlySet<number>>()

  async busyHours() {
    this.#called('busyHours')
    return this.hours
  }

  async wantedRooms(): Promise<readonly WantedRoom[]> {
    this.#called('wantedRooms')
    return []
  }

  async openSeries(_app: string, stream: StreamName): Promise<readonly OpenSeries[]> {
    this.#called('openSeries')
    return [...this.#series].flatMap(([key, { progress, closed }]) => {
      const [name, series] = key.split(' ')
      if (closed || name !== stream || series === undefined) return []
      return [{ series, life: progress.life, lastEventAt: null, ...this.known.get(series) }]
    })
  }

  async noteApp(_fence: Fence, app: string, facts: AppFacts): Promise<void> {
    this.#called('noteApp')
    this.noted.push(app)
    this.facts.push(facts)
  }

  async discoverRooms(_fence: unknown, _app: string, rooms: readonly string[]): Promise<void> {
    this.#called('discoverRooms')
    for (const room of rooms) for (const stream of this.#roomStreams) this.#make(stream, room)
  }

  async follow(_fence: unknown, _app: string, stream: StreamName, series: string): Promise<void> {
    this.#called('follow')
    this.#make(stream, series)
  }

  async progress(_app: string, stream: StreamName, series: string): Promise<Progress | undefined> {
    this.#called('progress')
    return this.#series.get(`${stream} ${series}`)?.progress
  }

  async commit(page: PageCommit): Promise<CommitResult> {
    this.#called('commit')
    const answer = this.#answers.shift()
    if (answer) return answer
    const series = this.#series.get(`${page.stream} ${page.series}`)
    if (series?.progress.version !== page.version) return { outcome: 'stale' }
    const { cursor, streamState } = page
    const version = page.version + 1
    this.#series.set(`${page.stream} ${page.series}`, {
      progress: { version, cursor, streamState, certain: page.series !== '' },
      closed: false,
    })
    this.commits.push(page)
    const keys = thingsOf(page).map(({ id }) => `${page.stream} ${page.series} ${id}`)
    const fresh = keys.filter(key => !this.stored.has(key))
    for (const key of fresh) this.stored.add(key)
    return {
      outcome: 'committed',
      version,
      stored: { 'classroom.room_event': fresh.length },
      diverged: 0,
      deadLetters: lettersOf(page),
    }
  }

  async dryRun(page: PageCommit | WindowCommit | ItemCommit): Promise<boolean> {
    if ('item' in page || 'covers' in page) return true
    this.#called('dryRun')
    return thingsOf(page).every(({ id }) => id >= 0)
  }

  async deadLetter(letter: DeadLetter): Promise<'new'> {
    this.#called('deadLetter')
    this.letters.push(letter)
    return 'new'
  }

  async closeSeries(_fence: unknown, _app: string, stream: StreamName, series: string): Promise<void> {
    this.#called('closeSeries')
    const known = this.#series.get(`${stream} ${series}`)
    if (known) known.closed = true
    else this.closedWindows.push(`${stream} ${series}`)
  }

  async vouchFor(_fence: unknown, _app: string, room: string): Promise<boolean> {
    this.#called('vouchFor')
    if (!this.isAnother) this.vouched.push(room)
    return !this.isAnother
  }

  async forgetRoom(_fence: unknown, _app: string, room: string): Promise<void> {
    this.#called('forgetRoom')
    this.forgotten.push(room)
    for (const stream of this.#roomStreams) {
      const series = this.#series.get(`${stream} ${room}`)
      if (series) series.closed = true
    }
  }

  async recordUnread(): Promise<number> {
    this.#called('recordUnread')
    const { unread } = this
    this.unread = 0
    return unread
  }

  async settleFeedGaps(): Promise<number> {
    this.#called('settleFeedGaps')
    return this.openGaps
  }

  async prepare(): Promise<void> {
    this.#called('prepare')
  }

  /** The time that the providers confirmed for the last housekeeping. */
  confirmed: number | undefined

  async housekeeping(confirmed: number | undefined): Promise<'done' | 'in doubt'> {
    this.#called('housekeeping')
    this.confirmed = confirmed
    return confirmed === undefined ? 'in doubt' : 'done'
  }

  async figures() {
    return { gaps: [], rooms: [] }
  }

  #make(stream: StreamName, series: string): void {
    const known = this.#series.get(`${stream} ${series}`)
    if (known) known.closed = false
    else this.put(stream, series)
  }

  #called(method: Method): void {
    this.calls.push(method)
    const error = this.#failures.get(method)?.shift()
    if (error) throw error
  }
}

export function thingsOf(page: PageCommit): readonly Thing[] {
  return (page.rows['classroom.room_event'] ?? []) as unknown as readonly Thing[]
}

function lettersOf({ rejects }: PageCommit): Record<string, number> {
  const byReason = Map.groupBy(rejects, ({ reason }) => reason)
  return Object.fromEntries([...byReason].map(([reason, same]) => [reason, same.length]))
}
