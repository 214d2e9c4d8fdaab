import { describe, expect, it } from 'vitest'
import type { Arrival } from '../../../sandbox/src/index.ts'
import { spellOf } from '../spells.ts'
import type { Examination } from './examination.ts'
import { examineManners } from './manners.ts'

const second = 1_000

function answer(seconds: number, amiss: Partial<Arrival> = {}): Partial<Arrival> {
  const asked = { app: 'alpha', operation: 'recordings', target: '/eu/edu/apps/alpha/v2/rooms/a/records' }
  return { ...asked, time: seconds * second, status: 200, ...amiss }
}

const refused = { status: 429, fault: 'status' }

/** What one process asked, and what it was answered; others may have asked the same. */
function judge(
  own: readonly Partial<Arrival>[],
  others: readonly Partial<Arrival>[] = [],
  spell = '429 with Retry-After 30',
): readonly string[] {
  const all = [...own, ...others].map((one, n) => ({ n: n + 1, ...one }))
  const about = { app: 'alpha', operation: 'recordings' }
  const examination = {
    sandbox: {
      arrivals: { count: all.length, list: (after: number, most: number) => all.slice(after, after + most) },
      settings: { switches: { emptyRoomLists: 'list' } },
    },
    askers: [
      { name: 'slot0.1', arrived: own.flatMap((one, n) => ('isOther' in one ? [] : [n + 1])) },
      { name: 'slot1.1', arrived: others.map((_, n) => own.length + n + 1) },
      { name: 'slot2.1', arrived: own.flatMap((one, n) => ('isOther' in one ? [n + 1] : [])) },
    ],
    ...{ start: 0, isCalm: true, isPrompt: true },
    faults: [spellOf(spell, { from: 0, to: 5 * second, ...about })],
  } as unknown as Examination
  return examineManners(examination).map(({ kind, text }) => `${kind}: ${text}`)
}

const each = (length: number, say: (n: number) => Partial<Arrival>) =>
  Array.from({ length }, (_, n) => say(n))

describe('how a provider in trouble is asked', () => {
  it('is well where it is left alone for as long as it says', () => {
    expect(judge([answer(1, refused), answer(2), answer(31.5, refused), answer(70)])).toEqual([])
  })

  it('is amiss where it is asked before that, by whoever heard of it alone', () => {
    const early = [/slot0.1 alpha recordings eu: asked at .*00:20.* to stay away/]
    expect(judge([answer(1, refused), answer(20)])).toEqual([expect.stringMatching(early[0]!)])
    expect(judge([answer(1, refused)], [answer(20)])).toEqual([])
  })

  it.each(['qpd limit error', 'no access'])('is amiss where it is asked soon after "%s"', spell => {
    const [spent, soon, later] = [answer(1, { fault: 'status' }), answer(720), answer(722)]
    expect(judge([spent, soon], [], spell)).toEqual([expect.stringContaining('to stay away')])
    expect(judge([spent, later], [], spell)).toEqual([])
    expect(judge([spent, soon], [], 'qps limit error')).toEqual([])
  })

  it.each(['429 with Retry-After absent', '429 with Retry-After -1'])(
    'is amiss where it is asked within a minute of "%s"',
    spell => {
      expect(judge([answer(1, refused), answer(30)], [], spell)).toEqual([
        expect.stringContaining('to stay away'),
      ])
      expect(judge([answer(1, refused), answer(62)], [], spell)).toEqual([])
    },
  )

  it('is amiss where credentials that were refused twice are tried on', () => {
    const unknown = { status: 401, fault: 'status' }
    const [first, again] = [answer(1, { ...unknown, n: 1 }), answer(2.5, { ...unknown, n: 2 })]
    expect(judge([first, again, answer(70)], [], '401')).toEqual([])
    expect(judge([first, again, answer(20)], [], '401')).toEqual([expect.stringContaining('to stay away')])
  })

  it.each([
    ['turned away more than 12 times', 13, { status: 401 }],
    ['turned away more than 12 times', 13, { refusal: 'qps limit error' }],
    ['turned away more than 40 times', 41, { status: 502, fault: 'html' }],
  ] as const)('is amiss where it is %s within a minute', (said, many, amiss) => {
    expect(judge(each(many, n => answer(n, amiss)))).toEqual([expect.stringContaining(said)])
    expect(judge(each(many - 1, n => answer(n, amiss)))).toEqual([])
    expect(judge(each(many, n => answer(5 * n, amiss)))).toEqual([])
  })

  it('is well where many rooms are muted, and amiss where one of them is asked again and again', () => {
    const ask = (n: number, room: number) =>
      answer(n, { status: 403, operation: 'poll', target: `/eu/edu/apps/a/v2/rooms/${room}/poll` })
    expect(judge(each(30, n => ask(n, n)))).toEqual([])
    expect(judge(each(6, n => ask(n, 1)))).toEqual([])
    expect(judge(each(7, n => ask(n, 1)))).toEqual([expect.stringContaining('turned away more than 6')])
  })

  it('is amiss where much is asked of a service that has answered nothing for minutes', () => {
    const ask = (n: number, amiss: Partial<Arrival> = { status: 503, fault: 'status' }) =>
      answer(8 * n, { ...amiss, operation: ['recordings', 'roomEvents', 'poll'][n % 3]! })
    expect(judge(each(24, ask), [], '503')).toEqual([])
    expect(judge(each(40, ask), [], '503')).toEqual([
      expect.stringContaining('classrooms eu: turned away more than 6'),
    ])
    // Who takes the app over from another process has learned nothing yet.
    const taken = each(40, n => (n === 20 ? { ...ask(n), isOther: true } : ask(n)))
    expect(judge(taken, [], '503')).toEqual([])
    // That a room is not known is an answer.
    const unknown = { status: 404, fault: 'status' }
    expect(
      judge(
        each(40, n => ask(n, n % 3 === 1 ? unknown : undefined)),
        [],
        '503',
      ),
    ).toEqual([])
    // One answer in the middle shows that it is not away.
    expect(
      judge(
        each(40, n => (n === 20 ? ask(n, {}) : ask(n))),
        [],
        '503',
      ),
    ).toEqual([])
  })

  it('is amiss where it is asked again and again for what it has just answered', () => {
    const [soon, later] = [each(10, n => answer(n)), each(10, n => answer(2 * n))]
    expect(judge(soon)).toEqual([expect.stringContaining('asked 9 times what was just answered')])
    expect(judge(later)).toEqual([])
    expect(judge(soon.map(each => ({ ...each, fault: 'latency' })))).toEqual([])
  })

  it('is amiss where what had no end is asked for as it was, and not in parts', () => {
    const about = (n: number, sids: string) =>
      answer(n, { n, operation: 'callMetrics', target: `/beta/analytics/call/metrics?sids=${sids}` })
    const endless = { ...about(1, 'a,b'), fault: 'endless' }
    expect(judge([endless, about(9, 'a'), about(10, 'b')])).toEqual([])
    expect(judge([endless, about(9, 'a,b')])).toEqual([expect.stringContaining('without an end')])
  })
})
