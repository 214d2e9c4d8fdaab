import { describe, expect, it } from 'vitest'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import type { FailureKind } from '../../../src/provider/errors.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { requestLine } from '../../../src/provider/operation.ts'
import { list } from '../fake-streams.ts'
import { minute, second } from '../harness.ts'
import { counted, makeHarness } from './admission-harness.ts'

describe('two apps on one credential', () => {
  const shared: GroupLimit = { ...counted, scope: 'key:1', rates: [perSecond(100)], concurrency: 2 }

  it.each(['no_access', 'forbidden', 'unauthorized'] as const)(
    '%s for one does not shut the other out',
    async kind => {
      const { ofFeed, transport, clock } = makeHarness()
      transport.answers = ({ app }) => (app === 'bad' ? kind : { items: [] })
      const bad = ofFeed({ app: 'bad', limit: shared })
      await clock.advance(second)
      await bad
      const good = ofFeed({ app: 'good', limit: shared })
      await clock.advance(second)
      expect(await good).toMatchObject({ outcome: 'replied', reply: { ok: true } })
    },
  )

  it('qps_limit for one makes both wait: they share the rate', async () => {
    const { ofFeed, transport, clock } = makeHarness()
    transport.answers = ({ app }) => (app === 'bad' ? 'qps_limit' : { items: [] })
    const bad = ofFeed({ app: 'bad', limit: shared })
    await clock.advance(second)
    await bad
    void ofFeed({ app: 'good', limit: shared })
    await clock.advance(second)
    expect(transport.asked.map(({ app }) => app)).toEqual(['bad'])
    await clock.advance(minute)
    expect(transport.asked.map(({ app }) => app)).toEqual(['bad', 'good'])
  })

  describe('of which one fails alone', () => {
    const quick: GroupLimit = { ...shared, concurrency: 8 }

    /** Four lanes of the app that fails and one of the app that is answered, each a request a second, for so long. */
    async function ask(lasts: number, failing: (at: number) => FailureKind | undefined) {
      const { transport, ofFeed, askOn } = makeHarness()
      transport.answers = ({ app, at }) => (app === 'bad' ? failing(at) : undefined) ?? { items: [] }
      const lanes = ['bad', 'good', 'bad', 'bad', 'bad'].map(app => () => ofFeed({ app, limit: quick }))
      const asked = await askOn(lasts, lanes)
      const timesOf = (name: string) => asked.filter(({ app }) => app === name).map(({ at }) => at)
      return { bad: timesOf('bad'), good: timesOf('good') }
    }

    it.each(['unavailable', 'server_error', 'timeout', 'network'] as const)(
      '%s: it is soon asked once a minute, and the other as often as before',
      async kind => {
        const { bad, good } = await ask(10 * minute, () => kind)
        expect(bad.filter(at => at > 0.5 * second && at < 30 * second).length).toBeLessThanOrEqual(6)
        expect(bad.length).toBeLessThanOrEqual(24)
        const late = bad.filter(at => at > 3 * minute)
        expect(Math.min(...late.slice(1).map((at, n) => at - late[n]!))).toBeGreaterThanOrEqual(minute)
        expect(good.length).toBeGreaterThan(580)
      },
    )

    it('is asked as ever within a minute and a half after it is answered again', async () => {
      const { bad } = await ask(10 * minute, at => (at < 5 * minute ? 'unavailable' : undefined))
      expect(bad.filter(at => at > 6.5 * minute).length).toBeGreaterThan(4 * 3.4 * 60)
    })
  })
})

describe('two operations of one limit group', () => {
  /** Twenty rooms, each asked once a second for its log and for a list, for ten minutes. */
  async function ask(failing: (operation: string, room: string, at: number) => boolean) {
    const { transport, ofRoom, askOn } = makeHarness()
    transport.answers = ({ operation, room, at }) =>
      failing(operation, room, at) ? 'server_error' : { items: [] }
    const line = (room: string) => requestLine(list.operation, { region: 'ap', appId: 'a1', roomUuid: room })
    const rooms = Array.from({ length: 20 }, (_, n) => `r${n}`)
    await askOn(
      10 * minute,
      rooms.flatMap(room => [() => ofRoom(room), () => ofRoom(room, { request: line(room) })]),
    )
    return { logs: transport.of('roomEvents'), lists: transport.of('recordings') }
  }

  it('back off each by itself', async () => {
    const { logs, lists } = await ask(operation => operation === 'recordings')
    expect(lists.length).toBeLessThanOrEqual(60)
    expect(lists.filter(({ at }) => at > 3 * minute).length).toBeLessThanOrEqual(8)
    expect(logs.length).toBeGreaterThan(20 * 560)
  })

  it('go on together after an outage of both', async () => {
    const end = 5 * minute
    const { logs, lists } = await ask((_operation, _room, at) => at < end)
    const firstOf = (asked: typeof logs) => asked.find(({ at }) => at >= end)!.at
    expect(firstOf(logs)).toBeLessThan(end + 1.5 * minute)
    expect(Math.abs(firstOf(logs) - firstOf(lists))).toBeLessThan(2 * second)
  })

  it('keep no room waiting for another one that fails', async () => {
    const { lists } = await ask((operation, room) => operation === 'recordings' && room === 'r1')
    expect(lists.length).toBeGreaterThan(20 * 560)
  })
})
