import { beforeAll, describe, expect, it } from 'vitest'
import type { AppOptions, FaultRule } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { startRawServer } from '../http/raw-server.ts'
import { ask } from '../support/embedded.ts'
import { complaint, figures, type Report } from '../support/oracle/report.ts'
import type { LogLine } from './daemon.ts'
import { sumOf, tablesWith } from './probes.ts'
import { openStage } from './stage.ts'

interface Trouble {
  readonly fault: Omit<FaultRule, 'app'>
  /** Outcome of the request as the metrics count it. */
  readonly outcome: string
  /** Reason of the dead letter that keeps the bytes. */
  readonly letter?: string
}

const first = { operation: 'roomEvents', at: [1] } as const

/** Each befalls an app of its own, once, while it reads the log of its room. */
const troubles: Readonly<Record<string, Trouble>> = {
  'half-a-page': { fault: { kind: 'malformed', ...first }, outcome: 'malformed', letter: 'malformed' },
  'wrong-types': { fault: { kind: 'wrong-types', ...first }, outcome: 'malformed', letter: 'malformed' },
  'html-page': { fault: { kind: 'html', ...first }, outcome: 'malformed', letter: 'malformed' },
  'endless-body': { fault: { kind: 'endless', ...first }, outcome: 'too_large', letter: 'too_large' },
  redirect: { fault: { kind: 'redirect', ...first }, outcome: 'redirect' },
  unauthorized: {
    fault: { kind: 'status', status: 401, ...first },
    outcome: 'unauthorized',
    letter: 'unauthorized',
  },
  'rate-limited': {
    fault: { kind: 'status', status: 429, retryAfter: '3', ...first },
    outcome: 'rate_limited',
    letter: 'rate_limited',
  },
  'server-error': {
    fault: { kind: 'status', status: 500, ...first },
    outcome: 'server_error',
    letter: 'server_error',
  },
  unavailable: {
    fault: { kind: 'status', status: 503, retryAfter: '2', ...first },
    outcome: 'unavailable',
    letter: 'unavailable',
  },
  'cut-body': { fault: { kind: 'truncated', ...first }, outcome: 'network' },
  reset: { fault: { kind: 'reset', ...first }, outcome: 'network' },
  'lost-answer': { fault: { kind: 'lost-response', ...first }, outcome: 'network' },
  'slow-drip': { fault: { kind: 'drip', ms: 500, ...first }, outcome: 'timeout' },
}
const looping = { kind: 'looping-next-id', operation: 'roomEvents', at: [1, 2], app: 'looping' } as const

const appOf = (id: string): AppOptions => ({ id, uid: 'penstock', token: `token-of-${id}` })

describe.concurrent('a provider that answers badly', () => {
  const state = {} as {
    lines: readonly LogLine[]
    metrics: string
    report: Report
    letters: readonly Record<string, unknown>[]
    canary: number
    exit: number | string
    /** All that the provider could serve, and what was said in its chats. */
    served: string
    said: readonly string[]
    /** Tables that hold a secret. */
    leaks: readonly string[]
    requests: readonly { app: string | undefined; at: number; status: number | undefined }[]
  }

  beforeAll(async () => {
    const canary = await startRawServer(socket => socket.end())
    const faults = Object.entries(troubles).map(([app, { fault }]) => ({
      ...fault,
      app,
      location: canary.url,
    }))
    const stage = await openStage({
      seed: 'bad input',
      apps: [...Object.keys(troubles), looping.app].map(appOf),
      faults: [...faults.map(fault => withoutLocation(fault)), looping],
      school: { classes: 1, lessonMinutes: 300 },
      provider: { maxBodyBytes: 1_048_576 },
    })
    try {
      const daemon = stage.start()
      const url = await daemon.ready
      await systemClock.sleep(15_000)
      state.report = await stage.settle(60_000)
      state.metrics = await (await fetch(`${url}/metrics`)).text()
      state.letters = await ask(
        stage.databaseUrl,
        'select app_id, stream, reason, length(body) as bytes from ingest.dead_letter',
      )
      state.leaks = await tablesWith(stage.databaseUrl, secrets.source)
      const truth = [...stage.sandbox.truth()]
      state.served = JSON.stringify(truth, (_, value) => (typeof value === 'bigint' ? String(value) : value))
      state.said = truth.flatMap(line => (line.kind === 'event' ? messageOf(line.data) : []))
      state.exit = await daemon.terminate()
      state.lines = daemon.lines
      state.canary = canary.connections()
      state.requests = stage.sandbox.arrivals
        .list(0, 100_000)
        .filter(({ operation }) => operation === 'roomEvents')
        .map(({ app, time, status }) => ({ app, at: time, status }))
      process.stderr.write(`bad input: ${figures(state.report)}\n`)
    } finally {
      await stage.close()
      await canary.close()
    }
  })

  it('is drained whole once it has recovered, and the daemon ends well', () => {
    expect(complaint(state.report)).toBe('')
    expect(state.exit).toBe(0)
  })

  for (const [app, { outcome, letter }] of Object.entries(troubles)) {
    it(`${app}: says so in the log, counts it${letter ? ' and keeps the bytes' : ''}`, () => {
      const said = state.lines.filter(line => line.app === app && line.kind === outcome)
      expect(said.map(({ stream }) => stream)).toContain('room-events')
      const requests = { app, operation: 'roomEvents', outcome }
      const pages = { stream: 'room-events', outcome }
      expect(sumOf(state.metrics, 'penstock_requests_total', requests)).toBeGreaterThan(0)
      expect(sumOf(state.metrics, 'penstock_pages_total', pages)).toBeGreaterThan(0)
      const kept = state.letters.filter(({ app_id }) => app_id === app).map(({ reason }) => reason)
      expect(kept).toEqual(letter ? [letter] : [])
    })
  }

  it('a nextId that comes round again is cut, said and counted', () => {
    const said = state.lines.filter(line => line.app === looping.app && /nextId/.test(line.msg))
    expect(said.length).toBeGreaterThan(0)
    expect(sumOf(state.metrics, 'penstock_pages_total', { outcome: 'looped' })).toBeGreaterThan(0)
  })

  it('a redirect is not followed: its target hears nothing', () => {
    expect(state.canary).toBe(0)
  })

  it('a Retry-After is kept', () => {
    for (const [app, seconds] of [
      ['rate-limited', 3],
      ['unavailable', 2],
    ] as const) {
      const [refused, next] = state.requests.filter(request => request.app === app)
      expect(next!.at - refused!.at).toBeGreaterThanOrEqual(seconds * 1_000)
    }
  })

  it('no secret is in the log, the metrics or the database, and nothing that anybody said in the log', () => {
    expect(state.served).toMatch(/board-secret-/)
    expect(state.served).toMatch(/task-secret-/)
    const log = JSON.stringify(state.lines)
    expect(log).not.toMatch(secrets)
    expect(state.metrics).not.toMatch(secrets)
    expect(state.leaks).toEqual([])
    expect(state.said.length).toBeGreaterThan(10)
    expect(state.said.filter(message => log.includes(message))).toEqual([])
  })
})

const secrets = /token-of-|board-secret-|task-secret-/

/** Short words of a chat may stand in a log by chance. */
function messageOf(data: unknown): readonly string[] {
  if (typeof data !== 'object' || data === null || !('message' in data)) return []
  return typeof data.message === 'string' && data.message.length > 12 ? [data.message] : []
}

function withoutLocation({ location, ...fault }: FaultRule & { readonly location: string }): FaultRule {
  return fault.kind === 'redirect' ? { ...fault, location } : fault
}

describe.concurrent('a provider that serves strange content', () => {
  it('is kept to the last digit and character, and what cannot be read is set aside', async () => {
    const stage = await openStage({
      seed: 'strange content',
      quirks: {
        ...{ unknownCmd: 0.08, nul: 0.08, loneSurrogate: 0.08, malformedRecord: 0.08, malformedData: 0.08 },
        ...{ malformedWidgetItem: 0.2, bigSequence: 0.5 },
      },
    })
    try {
      const daemon = stage.start()
      const url = await daemon.ready
      await systemClock.sleep(15_000)
      const report = await stage.settle(60_000)
      const metrics = await (await fetch(`${url}/metrics`)).text()
      process.stderr.write(`strange content: ${figures(report)}\n`)
      expect(complaint(report)).toBe('')
      const reasons = new Set(report.letters.map(({ stream, reason }) => `${stream} ${reason}`))
      for (const letter of ['room-events wrong_type', 'app-events wrong_type'])
        expect(reasons).toContain(letter)
      const counted = sumOf(metrics, 'penstock_dead_letters_total', {
        stream: 'room-events',
        reason: 'wrong_type',
      })
      expect(counted).toBeGreaterThan(0)
      expect(await daemon.terminate()).toBe(0)
      const [{ big } = { big: 0 }] = await ask(
        stage.databaseUrl,
        'select count(*)::int as big from classroom.room_event where sequence > 9007199254740992',
      )
      expect(big).toBeGreaterThan(0)
    } finally {
      await stage.close()
    }
  })
})
