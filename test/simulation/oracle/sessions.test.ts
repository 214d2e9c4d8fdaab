import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'
import { examineSessions } from './sessions.ts'

const begin = Date.UTC(2026, 0, 5, 8) / 1_000

/** Seconds of a call that begins at 0, as they are asked about, and when. */
type Question = readonly [from: number, to: number, at: number]

/** Somebody stays from 0 to 600 and speaks from 500 on, and the row says that they are there as of `left`, and whether they spoke. */
async function look(
  staysAsOf: 'answer' | 'question',
  asked: readonly Question[],
  left: number,
  speaker = true,
) {
  const arrivals = asked.map(([from, to, at], n) => ({
    ...{ n: n + 1, app: 'one', operation: 'callSessions', status: 200, time: (begin + at) * 1_000 },
    target: `/?call_id=c&start_ts=${begin + from}&end_ts=${begin + to}`,
  }))
  const item = {
    ...{ sid: 's', cname: 'c', uid: 7, network: 'n', platform: 'p', speaker: true, sdk_version: '1' },
    ...{ device_type: 'd', join_ts: begin, leave_ts: begin + 600, finished: true },
  }
  const spoke = { joinedAt: begin * 1_000, speaksFrom: (begin + 500) * 1_000 }
  const session = { sid: 's', item, isLeaveTold: true, ...spoke }
  const sandbox = {
    settings: { apps: [{ id: 'one' }], switches: { staysAsOf, mostPerPage: 100 } },
    arrivals: { count: arrivals.length, list: () => arrivals },
    universe: { happened: () => (begin + 5_000) * 1_000 },
    analytics: () => ({ calls: () => [{ callId: 'c', sessions: [session] }] }),
  }
  const row = {
    ...{ app: 'one', call: 'c', sid: 's', cname: 'c', uid: '7', network: 'n', platform: 'p', speaker },
    ...{ sdk: '1', device: 'd', joined: begin, left: begin + left, finished: false, extra: null },
  }
  const found = await examineSessions({
    ...{ sandbox: sandbox as unknown as Sandbox, rows: async () => [row], isCalm: true },
    apps: [{ id: 'one', plan: 'own', regions: [] }],
  } as unknown as Examination)
  return found.map(({ text }) => text)
}

const back = ['one call-sessions finished: c s was told to have left']

describe('a stay that is stored as one that goes on', () => {
  it('goes on as long as nobody was told that it ended', async () => {
    expect(await look('question', [[0, 400, 700]], 400)).toEqual([])
    expect(await look('answer', [[0, 400, 500]], 500)).toEqual([])
  })

  it('has ended once an answer told so, in whatever order the slices were read', async () => {
    const slices: readonly Question[] = [
      [400, 800, 900],
      [0, 400, 1_000],
    ]
    expect(await look('question', slices, 400)).toEqual(back)
    expect(await look('question', slices.toReversed(), 400)).toEqual(back)
    expect(await look('answer', [[0, 400, 900]], 900)).toEqual(back)
  })

  it('is not told of by a slice that begins after its end', async () => {
    const slices: readonly Question[] = [
      [0, 400, 500],
      [700, 900, 1_000],
    ]
    expect(await look('question', slices, 400)).toEqual([])
  })
})

describe('who is stored as one who does not speak', () => {
  it('did not while nobody was told that they do', async () => {
    expect(await look('question', [[0, 400, 700]], 400, false)).toEqual([])
  })

  it('spoke once an answer told so, in whatever order the slices were read', async () => {
    const slices: readonly Question[] = [
      [400, 550, 900],
      [0, 400, 1_000],
    ]
    const silent = ['one call-sessions speaker: c s was told to speak']
    expect(await look('question', slices, 400, false)).toEqual(silent)
    expect(await look('question', slices.toReversed(), 400, false)).toEqual(silent)
  })
})
