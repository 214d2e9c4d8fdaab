import type {
  CommitResult,
  ItemBounds,
  ItemCommit,
  LiveChannel,
  OpenItem,
  RangeStore,
  SubstreamDemand,
  WindowCommit,
  WindowProgress,
} from '../../src/engine/ports.ts'
import type { Ranges } from '../../src/planning/ranges.ts'
import type { WorkItem } from '../../src/streams/page.ts'
import type { StreamName } from '../../src/streams/stream.ts'

interface Item {
  open: OpenItem
  state: 'pending' | 'done' | 'lost' | 'split'
  deferred: number
  refusal?: string | undefined
}

export interface LostLine {
  readonly stream: string
  readonly series: string
  readonly reason: string
  readonly from: number
  readonly to: number
}

/** Progress over ranges and a worklist, in memory. */
export class FakeRangeStore implements Omit<RangeStore, 'dryRun'> {
  readonly windowCommits: WindowCommit[] = []
  readonly itemCommits: ItemCommit[] = []
  readonly gaps: LostLine[] = []
  readonly closedWindows: string[] = []
  readonly deferrals: number[] = []
  /** What goes on in channels, as a test says. */
  live: readonly LiveChannel[] = []
  readonly #windows = new Map<string, WindowProgress>()
  readonly #items = new Map<string, Item>()

  window(stream: StreamName, series: string): WindowProgress {
    const found = this.#windows.get(`${stream} ${series}`)
    if (!found) throw new Error(`nobody began ${stream} ${series}`)
    return found
  }

  putWindow(stream: StreamName, progress: Partial<WindowProgress> & { readonly series: string }): void {
    const blank = { version: 0, backlogFrom: 0, covered: [], seen: [], lost: [], missing: [], wanted: [] }
    this.#windows.set(`${stream} ${progress.series}`, { ...blank, ...progress })
  }

  putItem(item: WorkItem, parts: Partial<OpenItem> = {}): void {
    const open: OpenItem = {
      version: 0,
      page: 1,
      streamState: null,
      origin: 'live',
      failures: 0,
      wasRefused: false,
      inHandOf: null,
      ...item,
      ...parts,
    }
    this.#items.set(keyOf(item), { open, state: 'pending', deferred: 0 })
  }

  item(stream: string, key: string): OpenItem {
    return [...this.#items.values()].find(({ open }) => open.stream === stream && open.key === key)!.open
  }

  states(): Readonly<Record<string, Item['state']>> {
    return Object.fromEntries([...this.#items].map(([key, { state }]) => [key, state]))
  }

  async windows(
    _app: string,
    stream: StreamName,
    since = Number.NEGATIVE_INFINITY,
  ): Promise<readonly WindowProgress[]> {
    const past = [{ from: Number.NEGATIVE_INFINITY, to: since }]
    return [...this.#windows]
      .filter(([key]) => key.startsWith(`${stream} `))
      .map(([, progress]) => {
        const { covered, seen, missing, wanted } = progress
        return {
          ...progress,
          lost: either(progress.lost, without(covered, without(covered, past))),
          ...{ covered: without(covered, past), seen: without(seen, past) },
          ...{ missing: without(missing, past), wanted: without(wanted, past) },
        }
      })
  }

  async beginWindows(
    _fence: unknown,
    _app: string,
    stream: StreamName,
    series: readonly string[],
    backlogFrom: number,
  ): Promise<void> {
    for (const each of series) {
      if (!this.#windows.has(`${stream} ${each}`)) this.putWindow(stream, { series: each, backlogFrom })
    }
  }

  async leaveWindows(_fence: unknown, _app: string, stream: StreamName, series: string): Promise<void> {
    this.closedWindows.push(`${stream} ${series}`)
    this.#windows.delete(`${stream} ${series}`)
  }

  async liveChannels(): Promise<readonly LiveChannel[]> {
    return this.live
  }

  async commitWindow(page: WindowCommit): Promise<CommitResult> {
    const known = this.window(page.stream, page.series)
    if (known.version !== page.version) return { outcome: 'stale' }
    this.windowCommits.push(page)
    this.putWindow(page.stream, {
      ...known,
      version: known.version + 1,
      covered: either(known.covered, page.covers),
      seen: either(known.seen, page.sees),
      lost: either(known.lost, page.loses),
      missing: either(without(without(known.missing, page.sees), page.covers), page.misses),
      wanted: without(known.wanted, page.sees),
    })
    for (const { from, to, reason } of page.loses) {
      this.gaps.push({ stream: page.stream, series: page.series, reason, from, to })
    }
    for (const item of page.work) if (!this.#items.has(keyOf(item))) this.putItem(item)
    return { outcome: 'committed', version: known.version + 1, stored: {}, diverged: 0, deadLetters: {} }
  }

  async expireWindows(
    _fence: unknown,
    _app: string,
    stream: StreamName,
    series: string,
    lowerBound: number,
  ): Promise<{ lost: number; absent: number }> {
    const known = this.window(stream, series)
    if (lowerBound <= known.backlogFrom) return { lost: 0, absent: 0 }
    const backlog = without(without([{ from: known.backlogFrom, to: lowerBound }], known.covered), known.lost)
    const unread = without(backlog, known.missing)
    const absent = without(backlog, unread)
    for (const range of unread) this.#lose({ stream, series, reason: 'expired', ...range })
    for (const range of absent) this.#lose({ stream, series, reason: 'not_served', ...range })
    this.putWindow(stream, {
      ...known,
      version: known.version + 1,
      lost: either(known.lost, backlog),
      missing: without(known.missing, backlog),
    })
    return { lost: unread.length, absent: absent.length }
  }

  /** A loss that goes on where the last one ended is the same row. */
  #lose(line: LostLine): void {
    const before = this.gaps.findIndex(
      gap => gap.series === line.series && gap.reason === line.reason && gap.to === line.from,
    )
    if (before < 0) this.gaps.push(line)
    else this.gaps[before] = { ...this.gaps[before]!, to: line.to }
  }

  async items(_app: string, stream: string, bounds: ItemBounds, limit: number, first = 'oldest') {
    const { after, upTo = Number.POSITIVE_INFINITY, before, isWell = false } = bounds
    return [...this.#items.values()]
      .filter(({ state, deferred, open }) => state === 'pending' && deferred === 0 && open.stream === stream)
      .map(({ open }) => open)
      .filter(
        ({ from, to, failures }) =>
          from > after && from <= upTo && to < before && (failures === 0 || !isWell),
      )
      .toSorted((a, b) => (first === 'oldest' ? a.from - b.from : b.from - a.from))
      .slice(0, limit)
  }

  async substreamDemand(_app: string, since: number): Promise<SubstreamDemand> {
    const all = [...this.#items.values()]
    const of = (stream: string, items: readonly Item[]) => items.filter(({ open }) => open.stream === stream)
    const young = all.filter(({ open }) => open.from > since)
    const whole = of('call-sessions', young).filter(({ state }) => state === 'done').length
    const batches = of('call-metrics', young).length / whole
    return {
      calls: of('call-sessions', young).length,
      cost: whole === 0 ? undefined : { slices: 1, pages: 1, batches },
      backlog: all
        .filter(({ state }) => state === 'pending')
        .toSorted((a, b) => a.open.from - b.open.from)
        .map(({ open: { from, stream } }) => {
          const isSessions = stream === 'call-sessions'
          return { from, sessions: isSessions ? 1 : 0, metrics: isSessions ? 0 : 1 }
        }),
    }
  }

  async itemDueIn(_app: string, stream: string, { after, before }: ItemBounds, _ago: number) {
    const waits = [...this.#items.values()]
      .filter(({ state, open }) => state === 'pending' && open.stream === stream && open.from > after)
      .map(({ deferred, open }) => Math.max(deferred, (open.to - before + 1) * 1_000))
      .filter(wait => wait > 0)
    return waits.sort((a, b) => a - b)[0] ?? null
  }

  async backlogItems(_app: string, stream: string) {
    const backlog = [...this.#items.values()].filter(
      item => item.state === 'pending' && item.open.stream === stream,
    )
    const seconds = backlog.reduce((sum, { open }) => sum + open.to - open.from + 1, 0)
    return { seconds, oldest: backlog.map(({ open }) => open.from).sort((a, b) => a - b)[0] ?? null }
  }

  async commitItem(page: ItemCommit): Promise<CommitResult> {
    const item = this.#items.get(keyOf(page.item))
    if (item?.open.version !== page.item.version || item.state !== 'pending') return { outcome: 'stale' }
    this.itemCommits.push(page)
    const version = item.open.version + 1
    item.open = {
      ...item.open,
      version,
      page: page.nextPage ?? 1,
      streamState: page.streamState,
      failures: 0,
      wasRefused: false,
    }
    if (page.nextPage === null && page.rejects.length === 0) item.state = 'done'
    if (page.nextPage === null && page.rejects.length > 0) {
      item.open = { ...item.open, failures: page.item.failures + 1 }
      item.deferred = page.again
    }
    for (const work of page.work) if (!this.#items.has(keyOf(work))) this.putItem(work)
    return { outcome: 'committed', version, stored: {}, diverged: 0, deadLetters: {} }
  }

  async deferItem(
    _fence: unknown,
    _app: string,
    item: OpenItem,
    wait: number,
    refusal?: string,
  ): Promise<void> {
    const known = this.#items.get(keyOf(item))!
    known.refusal = refusal
    known.deferred = wait
    this.deferrals.push(wait)
    const { failures, version } = known.open
    const wasRefused = refusal === 'refused'
    known.open = { ...known.open, failures: failures + 1, wasRefused, version: version + 1 }
  }

  /** What was deferred may be asked for again. */
  undefer(): void {
    for (const item of this.#items.values()) item.deferred = 0
  }

  async takeItemInHand({ owner }: { readonly owner: string }, _app: string, item: OpenItem): Promise<void> {
    const held = this.#items.get(keyOf(item))!
    held.open = { ...held.open, inHandOf: owner }
  }

  async splitItem(_fence: unknown, _app: string, item: OpenItem, into: readonly WorkItem[]): Promise<void> {
    this.#items.get(keyOf(item))!.state = 'split'
    for (const work of into) this.putItem(work, { inHandOf: null })
  }

  async loseItem(_fence: unknown, _app: string, item: OpenItem, reason: string): Promise<void> {
    this.#items.get(keyOf(item))!.state = 'lost'
    this.gaps.push({ stream: item.stream, series: item.key, reason, from: item.from, to: item.to })
  }

  async expiringCalls(
    _app: string,
    stream: string,
    lowerBound: number,
    except: readonly string[],
    most: number,
  ) {
    const keys = this.#expiring(stream, lowerBound)
      .toSorted((a, b) => a.open.from - b.open.from)
      .map(({ open }) => open.key)
    return [...new Set(keys)].filter(key => !except.includes(key)).slice(0, most)
  }

  #expiring(stream: string, lowerBound: number): readonly Item[] {
    return [...this.#items.values()].filter(
      ({ state, open }) => state === 'pending' && open.stream === stream && open.from <= lowerBound,
    )
  }

  async expireItems(
    _fence: unknown,
    _app: string,
    stream: string,
    lowerBound: number,
    calls: readonly string[],
  ): Promise<number> {
    const gone = this.#expiring(stream, lowerBound).filter(({ open }) => calls.includes(open.key))
    for (const item of gone) {
      item.state = 'lost'
      const { key, from, to } = item.open
      this.gaps.push({ stream, series: key, reason: item.refusal ?? 'expired', from, to })
    }
    return gone.length
  }
}

function keyOf({ stream, key, part }: WorkItem): string {
  return `${stream} ${key} ${part}`
}

function either(a: Ranges, b: Ranges): Ranges {
  return where([...a, ...b], () => true)
}

function without(a: Ranges, b: Ranges): Ranges {
  return where(a, point => !b.some(({ from, to }) => from <= point && point < to), b)
}

/** The parts of the ranges where a condition holds, by looking at the beginning of every piece between two bounds. */
function where(ranges: Ranges, holds: (point: number) => boolean, cuts: Ranges = []): Ranges {
  const bounds = [...ranges, ...cuts].flatMap(({ from, to }) => [from, to]).toSorted((a, b) => a - b)
  const pieces = bounds.slice(1).map((to, i) => ({ from: bounds[i]!, to }))
  const kept = pieces.filter(
    ({ from, to }) => from < to && holds(from) && ranges.some(each => each.from <= from && from < each.to),
  )
  return kept.reduce<{ from: number; to: number }[]>((all, piece) => {
    const last = all.at(-1)
    if (last?.to === piece.from) last.to = piece.to
    else all.push({ ...piece })
    return all
  }, [])
}
