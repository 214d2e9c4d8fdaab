import { expect, it } from 'vitest'
import type { TrueSeries } from '../../../sandbox/src/index.ts'
import type { MeasuredCall } from './by-call.ts'
import type { Examination } from './examination.ts'
import { judgeSetAside } from './set-aside-values.ts'

const series: TrueSeries = {
  ...{ sid: 's', mid: 20_001, peer: 0 },
  ...{ moments: [100, 110, 120, 130], values: [1, 'n/a', 'n/a', 2] },
}

/** What is said where those pairs were set aside of a call that was asked about from 100 to 130. */
async function judge(
  kvs: readonly unknown[],
  told: { readonly to?: number; readonly isCalm?: boolean; readonly times?: number } = {},
) {
  const { to = 130, isCalm = true, times = 1 } = told
  const target = `/v1/metrics?call_id=c&start_ts=100&end_ts=${to}&sids=s,t`
  const arrival = { n: 1, app: 'alpha', operation: 'callMetrics', target, time: 200_000, status: 200 }
  const body = JSON.stringify({ sid: 's', data: [{ mid: 20_001, peer_uid: 0, kvs }] })
  const examination = {
    sandbox: {
      analytics: () => ({ calls: () => [{ callId: 'c' }] }),
      arrivals: { count: 1, list: () => [arrival] },
      settings: {
        quirks: { malformedValue: 0.1 },
        switches: { kvs: 'pairs', metricsEnd: 'exclusive', ownPeer: 'present' },
      },
    },
    rows: async (text: string) =>
      text.includes('unkept_letter') ? [] : kvs.length > 0 ? [{ key: 'alpha c', body, times }] : [],
    ...{ apps: [{ id: 'alpha' }], end: 1_000_000, isCalm },
  } as unknown as Examination
  const { calls, judge, findings } = await judgeSetAside(examination)
  expect([...calls]).toEqual(['alpha c'])
  await judge({ key: 'alpha c', truth: [series] } as unknown as MeasuredCall)
  return findings().map(({ kind, text }) => `${kind} ${text}`)
}

it('is well where each value that is a word was set aside, as a pair or in place of one', async () => {
  expect(
    await judge([
      [110, 'n/a'],
      [120, 'n/a'],
    ]),
  ).toEqual([])
  expect(await judge([{ k: 110, v: 'n/a' }, 'n/a at 120'])).toEqual([])
  expect(await judge([null, [120, 'n/a']])).toEqual([])
  expect(await judge([null], { times: 2 })).toEqual([])
})

it('finds values that are missing, of which an answer told', async () => {
  const missing = [expect.stringMatching(/^lost call-metrics letter: alpha c s 20001 0: of 1 values/)]
  expect(await judge([[110, 'n/a']])).toEqual(missing)
  expect(await judge([[110, 'n/a']], { to: 120 })).toEqual([])
  expect(await judge([[110, 'n/a']], { isCalm: false })).toEqual([])
  expect(await judge([null])).toEqual([expect.stringContaining('of 2 values')])
  expect(await judge([])).toEqual([expect.stringContaining('of 2 values')])
})

it('finds what was set aside though it could be read', async () => {
  const readable = await judge([
    [100, 1],
    [110, 'n/a'],
    [120, 'n/a'],
  ])
  expect(readable).toEqual([expect.stringMatching(/^different call-metrics letter: .*could be read$/)])
})
