import { expect, it } from 'vitest'
import type { TrueCall } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'
import { isMeasured } from './selection.ts'

const narrowed = { at: 1_000_000, minUsers: 9 }

/** Whether the metrics of a call are due whose sessions were listed first at a moment, where the selection is made narrower. */
function judge(users: number, listedAt: number | undefined): boolean {
  const listed = { n: 1, app: 'a', operation: 'callSessions', status: 200, time: listedAt }
  const list =
    listedAt === undefined ? [] : [{ ...listed, target: '/beta/analytics/call/sessions?call_id=c' }]
  const sandbox = { arrivals: { count: list.length, list: () => list } }
  const selection = { app: 'a', minUsers: 3, narrowed }
  const sessions = Array.from({ length: users }, (_, uid) => ({ uid }))
  const call = { callId: 'c', sessions } as unknown as TrueCall
  return isMeasured({ sandbox, selection } as unknown as Examination, 'a', call)
}

it('what was asked for before a selection was made narrower stays asked for', () => {
  expect(judge(4, narrowed.at - 1)).toBe(true)
  expect(judge(2, narrowed.at - 1)).toBe(false)
})

it('what is listed after that goes by the new selection', () => {
  expect(judge(4, narrowed.at + 120_000)).toBe(false)
  expect(judge(4, undefined)).toBe(false)
  expect(judge(9, narrowed.at + 120_000)).toBe(true)
})
