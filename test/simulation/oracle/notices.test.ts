import { describe, expect, it } from 'vitest'
import type { Arrival, Notice } from '../../../sandbox/src/index.ts'
import { type Spell, spellOf } from '../spells.ts'
import type { Examination } from './examination.ts'
import { examineHeed } from './notices.ts'

const second = 1_000

/** What is said of a notification that was sent after 100 seconds; `listed` in seconds. */
function judge(
  listed: readonly number[],
  amiss: Partial<Examination & { notice: Partial<Notice>; refused: readonly number[] }> = {},
) {
  const { refused = [] } = amiss
  const arrivals = listed.map(at => {
    const status = refused.includes(at) ? 401 : 200
    return { app: 'alpha', operation: 'listPlayers', time: at * second, status }
  })
  const notice = { noticeId: 'one', outcome: 'delivered', sentAt: [100 * second], ...amiss.notice }
  const examination = {
    sandbox: {
      arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] },
      notices: () => [notice],
    },
    ...{ apps: [{ id: 'alpha' }], askers: [{}], faults: [] as Spell[], isCalm: true, end: 300 * second },
    ...amiss,
  } as unknown as Examination
  return examineHeed(examination).map(({ kind, text }) => `${kind}: ${text}`)
}

describe('a notification of a player', () => {
  it('has the players listed soon', () => {
    expect(judge([60, 101])).toEqual([])
    expect(judge([60, 160])).toEqual([expect.stringMatching(/^owed: notification one of alpha.*no list/)])
  })

  it('may be late where lists are many, or failed, or nobody need have heard of it', () => {
    expect(judge([50, 60, 65, 70, 75, 80, 85, 90, 160])).toEqual([])
    expect(judge([160], { notice: { outcome: 'lost' } })).toEqual([])
    expect(judge([160], { isCalm: false })).toEqual([])
    expect(judge([60, 160], { refused: [60] })).toEqual([])
    expect(judge([5, 160], { refused: [5] })).toHaveLength(1)
    const faults = [spellOf('503', { from: 0, to: 99, app: 'alpha', operation: 'listPlayers' })]
    expect(judge([160], { faults })).toEqual([])
  })
})
