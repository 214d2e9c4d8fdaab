import type { AnalyticsTruth, Sandbox, TrueCall } from '../../../sandbox/src/index.ts'
import type { CallStage } from './stage.ts'
import type { Stored } from './stored.ts'
import { createTwin, type Twin } from './twin.ts'
import { compareValues } from './values.ts'

/** Up to when what happened must be stored, Unix ms. */
export interface Cut {
  /** Calls that had begun by then are listed. */
  readonly listed: number
  /** Calls that had ended by then are known to have ended. */
  readonly ended: number
  /** Calls that had ended by then are stored with their sessions and metrics. */
  readonly measured: number
}

export interface Findings {
  /** In the truth and neither stored nor in the gap ledger. */
  readonly lost: readonly string[]
  /** Stored, and in no truth. */
  readonly invented: readonly string[]
  readonly different: readonly string[]
  /** Dead letters of content that nobody spoilt, or none where it was. */
  readonly letters: readonly string[]
  /** Rows of the gap ledger that should not be there, or are missing. */
  readonly gaps: readonly string[]
  /** What was compared. */
  readonly figures: Readonly<Record<string, number>>
}

/** Compares all that is stored with the whole truth, value by value. Shares no code with the daemon. */
export async function compareAnalytics(stage: CallStage, stored: Stored, cut: Cut): Promise<Findings> {
  const { sandbox, origin, apps } = stage
  const age = sandbox.universe.clockTime() - origin
  const comparison = new Comparison(stage, stored, cut, createTwin(sandbox, origin, age))
  for (const app of apps) await comparison.compare(app, sandbox.analytics(app))
  return comparison.finish()
}

class Comparison {
  readonly #stage: CallStage
  readonly #stored: Stored
  readonly #cut: Cut
  readonly #twin: Twin
  readonly #lost: string[] = []
  readonly #different: string[] = []
  readonly #gaps: string[] = []
  readonly #calls: Map<string, Stored['calls'][number]>
  readonly #sessions: Map<string, string>
  readonly #series: Map<string, Stored['series'][number]>
  /** What was met in the truth: calls, and of those that are due their sessions and series. */
  readonly #known = new Set<string>()
  /** Calls whose details must be stored. */
  readonly #due = new Set<string>()
  readonly #spoilt = new Set<string>()
  #points = 0
  #compared = 0

  constructor(stage: CallStage, stored: Stored, cut: Cut, twin: Twin) {
    this.#stage = stage
    this.#stored = stored
    this.#cut = cut
    this.#twin = twin
    this.#calls = new Map(stored.calls.map(row => [`${row.app} ${row.call}`, row]))
    this.#sessions = new Map(
      stored.sessions.map(row => [`${row.app} ${row.call} ${row.sid}`, canonical(row.content)]),
    )
    this.#series = new Map(
      stored.series.map(row => [`${row.app} ${row.call} ${row.sid} ${row.peer} ${row.mid}`, row]),
    )
  }

  async compare(app: string, truth: AnalyticsTruth): Promise<void> {
    const calls = [...truth.calls()]
    const overflown = this.#compareGaps(app, calls)
    for (const call of calls) {
      const key = `${app} ${call.callId}`
      this.#known.add(key)
      const row = this.#calls.get(key)
      if (row) this.#compareCall(key, row, call)
      else if (call.createdAt < this.#cut.listed && !overflown.has(call.item.created_ts)) this.#lost.push(key)
      const isDue = call.destroyedAt !== undefined && call.destroyedAt < this.#cut.measured
      if (row && isDue) await this.#compareDetails(app, call)
    }
    const values = compareValues(
      this.#stage,
      app,
      this.#stored.values.filter(row => row.app === app),
    )
    this.#lost.push(...values.lost)
    this.#different.push(...values.different)
    this.#compared += values.compared
  }

  finish(): Findings {
    const stored = [this.#calls, this.#sessions, this.#series].flatMap(rows => [...rows.keys()])
    const invented = stored.filter(key => {
      const call = callOf(key)
      return !this.#known.has(call) || (this.#due.has(call) && !this.#known.has(key))
    })
    return {
      lost: this.#lost,
      invented,
      different: this.#different,
      letters: this.#compareLetters(),
      gaps: this.#gaps,
      figures: {
        calls: this.#calls.size,
        sessions: this.#sessions.size,
        points: this.#stored.series.reduce((sum, { points }) => sum + points, 0),
        'calls measured': this.#due.size,
        'points compared': this.#points,
        'values compared': this.#compared,
        'dead letters': this.#stored.letters.length,
        'gap rows': this.#stored.gaps.length,
      },
    }
  }

  /** Overflown seconds stand in the gap ledger, and nothing else does. */
  #compareGaps(app: string, calls: readonly TrueCall[]): ReadonlySet<number> {
    const overflown = overflownSeconds(calls, this.#stage.sandbox)
    const expected = [...overflown].map(second => `${app} calls overflow lost ${second}`)
    const found = this.#stored.gaps
      .filter(gap => gap.app === app)
      .flatMap(({ stream, reason, state, from, to }) =>
        Array.from({ length: to - from }, (_, n) => `${app} ${stream} ${reason} ${state} ${from + n}`),
      )
    this.#gaps.push(...difference(expected, found))
    return overflown
  }

  #compareCall(key: string, row: Stored['calls'][number], { item, destroyedAt }: TrueCall): void {
    const isOver = destroyedAt !== undefined
    if (row.cname !== item.cname || row.created !== item.created_ts) this.#different.push(`call ${key}`)
    if (row.finished && (!isOver || row.destroyed !== item.destroyed_ts)) {
      this.#different.push(`end of call ${key}: ${row.destroyed}, must be ${item.destroyed_ts}`)
    }
    if (!row.finished && isOver && destroyedAt < this.#cut.ended) {
      this.#different.push(`call ${key} has ended`)
    }
  }

  async #compareDetails(app: string, call: TrueCall): Promise<void> {
    const key = `${app} ${call.callId}`
    this.#due.add(key)
    const from = call.item.created_ts
    // One that is said to end before it starts can only be asked for at its start.
    const to = Math.max(from, call.item.destroyed_ts)
    const sessions = call.sessions.filter(({ platform, item }) => {
      const isAsked = this.#stage.world.servers !== 'exclude' || platform !== 'Linux'
      return isAsked && item.join_ts <= to && item.leave_ts >= from
    })
    for (const { sid, item } of sessions) {
      const place = `${key} ${sid}`
      this.#known.add(place)
      const { cname, uid, network, platform, speaker, sdk_version, device_type, ...times } = item
      const { join_ts, leave_ts, finished } = times
      const expected = JSON.stringify([
        ...[cname, String(uid), network, platform, speaker, sdk_version, device_type],
        ...[join_ts, leave_ts, finished, null],
      ])
      const content = this.#sessions.get(place)
      if (content === undefined) this.#lost.push(`session ${place}`)
      else if (content !== expected) this.#different.push(`session ${place}: ${content}, must be ${expected}`)
    }
    if (sessions.length === 0) return
    const asked = { callId: call.callId, from, to, sids: sessions.map(({ sid }) => sid) }
    for (const { sid, mid, peer, pairs } of await this.#twin.metrics(app, asked)) {
      const numbers = pairs.filter(([, value]) => typeof value === 'number')
      for (const [second, value] of pairs) {
        if (typeof value !== 'number') this.#spoilt.add(`${key} ${sid} ${mid} ${peer} ${second} ${value}`)
      }
      if (numbers.length > 0) this.#compareSeries(`${key} ${sid} ${peer} ${mid}`, JSON.stringify(numbers))
    }
  }

  #compareSeries(key: string, expected: string): void {
    this.#known.add(key)
    const row = this.#series.get(key)
    this.#points += row?.points ?? 0
    if (!row) this.#lost.push(`values of ${key}`)
    else if (canonical(row.pairs) !== expected) this.#different.push(`values of ${key}`)
  }

  /** Words among the values, each set aside and nothing else; besides them only bodies of injected failures. */
  #compareLetters(): readonly string[] {
    const words = this.#stored.letters.filter(({ stream, reason }) => {
      return stream === 'call-metrics' && reason === 'wrong_type'
    })
    const found = new Set(words.flatMap(({ app, series, body }) => wordsIn(`${app} ${series}`, body)))
    const due = [...found].filter(word => this.#due.has(callOf(word)))
    const others = this.#stored.letters.filter(letter => !words.includes(letter))
    return [...difference([...this.#spoilt], due), ...others.filter(this.#isStrange, this).map(describe)]
  }

  #isStrange({ app, stream, reason, occurrences }: Stored['letters'][number]): boolean {
    const injected = this.#stage.sandbox.arrivals
      .list(0, Number.POSITIVE_INFINITY)
      .filter(arrival => arrival.app === app && arrival.fault === 'status')
      .filter(arrival => arrival.operation === operationOf[stream])
    return reason !== 'server_error' || occurrences > injected.length
  }
}

/**
 * Seconds of which the provider lists only a part, as more calls begin in them and at their ends, which a search
 * counts in.
 */
export function overflownSeconds(calls: Iterable<TrueCall>, { settings }: Sandbox): ReadonlySet<number> {
  const most = 100 * settings.switches.callListPages
  const begun = new Map<number, number>()
  for (const { item } of calls) begun.set(item.created_ts, (begun.get(item.created_ts) ?? 0) + 1)
  const seconds = [...begun.keys()].flatMap(second => [second - 1, second])
  return new Set(seconds.filter(second => (begun.get(second) ?? 0) + (begun.get(second + 1) ?? 0) > most))
}

const operationOf: Readonly<Record<string, string>> = {
  calls: 'callSearch',
  'call-sessions': 'callSessions',
  'call-metrics': 'callMetrics',
  'usage-insight': 'usageInsight',
  'quality-insight': 'qualityInsight',
  'realtime-usage': 'realtimeUsage',
  'realtime-quality': 'realtimeQuality',
}

/** App and call ID, with which every key begins. */
function callOf(key: string): string {
  return key.split(' ', 2).join(' ')
}

interface Letter {
  readonly sid: string
  readonly data: readonly {
    readonly mid: number
    readonly peer_uid: number
    readonly kvs: readonly (readonly [number, unknown])[]
  }[]
}

function wordsIn(place: string, body: string): readonly string[] {
  const { sid, data } = JSON.parse(body) as Letter
  return data.flatMap(({ mid, peer_uid, kvs }) =>
    kvs.map(([second, word]) => `${place} ${sid} ${mid} ${peer_uid} ${second} ${word}`),
  )
}

function describe({ app, stream, series, reason, occurrences }: Stored['letters'][number]): string {
  return `dead letter ${app} ${stream} ${series}: ${reason}, ${occurrences} times`
}

/** What is in one list and not in the other, either way. */
function difference(expected: readonly string[], found: readonly string[]): readonly string[] {
  const [wanted, had] = [new Set(expected), new Set(found)]
  return [
    ...expected.filter(each => !had.has(each)).map(each => `missing: ${each}`),
    ...found.filter(each => !wanted.has(each)).map(each => `unexpected: ${each}`),
  ]
}

function canonical(json: string): string {
  return JSON.stringify(JSON.parse(json))
}

const most = 5

/** What is wrong, in a few lines; the empty text where nothing is. */
export function complaint({ figures: _, ...findings }: Findings): string {
  return Object.entries(findings)
    .filter(([, list]) => list.length > 0)
    .map(([kind, list]) => `${kind}: ${list.length}\n  ${list.slice(0, most).join('\n  ')}`)
    .join('\n')
}
