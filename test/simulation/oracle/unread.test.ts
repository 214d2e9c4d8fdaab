import { expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineUnread } from './unread.ts'

/** What is found where a call without stays is said to have had no users, and this was answered about its sessions. */
function judge(status?: number) {
  const rows = async () => [{ key: 'a c', users: 0, sessions: 0 }]
  const arrival = { n: 1, app: 'a', operation: 'callSessions', status, time: 1, target: '/x?call_id=c' }
  const list = status === undefined ? [] : [arrival]
  const sandbox = { arrivals: { count: list.length, list: () => list } }
  return examineUnread({ rows, sandbox } as unknown as Examination)
}

it('a call without users is one of which that was answered', async () => {
  expect(await judge(200)).toEqual([])
  expect(await judge(500)).toHaveLength(1)
  expect(await judge()).toEqual([{ kind: 'different', text: expect.stringContaining('a c has 0 users') }])
})
