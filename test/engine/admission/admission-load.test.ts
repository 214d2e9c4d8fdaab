import { describe, expect, it } from 'vitest'
import { Admission, type Attempt, type Sent } from '../../../src/engine/admission/admission.ts'
import { type AnswerRoom, createLoad, MOST_ROOM } from '../../../src/engine/admission/load.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { requestLine } from '../../../src/provider/operation.ts'
import { feed, roomLog } from '../fake-streams.ts'
import { createHarness, fence, minute, second } from '../harness.ts'

const counted: GroupLimit = { scope: 'a1', rates: [perSecond(1_000)], concurrency: 8, counted: 'ledger' }

const kibibyte = 1_024

const roomForTwo: AnswerRoom = { heavy: 105 * kibibyte, light: 15 * kibibyte }

/** Room for two answers, beside what light ones have for themselves. */
function crowded(room = roomForTwo, size = 50 * kibibyte) {
  const harness = createHarness([])
  harness.transport.size = size
  const admission = new Admission({ ...harness, load: createLoad(room) }, 30 * second)
  const controller = new AbortController()
  const request = requestLine(feed.operation, { region: 'ap', appId: 'a1' })
  const sent: Sent[] = []
  const send = (parts: Partial<Attempt> = {}) =>
    admission
      .send({
        ...{ app: 'a1', fence, purpose: 'live', life: 60 * second, signal: controller.signal },
        ...{ request, limit: counted, ...parts },
      })
      .then(one => sent.push(one))
  const release = () => {
    for (const one of sent.splice(0)) if (one.outcome === 'replied') one.release()
  }
  return { ...harness, send, sent, release, controller }
}

it('what has no room waits before it is debited, so that no grant dies waiting', async () => {
  const { clock, ledger, transport, send, sent, release } = crowded()
  for (let i = 0; i < 3; i++) void send()
  await clock.advance(10 * second)
  expect([ledger.taken.length, transport.asked.length]).toEqual([2, 2])
  release()
  await clock.advance(0)
  expect([ledger.taken.length, transport.asked.length, sent.length]).toEqual([3, 3, 1])
  expect(ledger.settled).toEqual([])
})

it('a failed answer and one that is never sent take no room', async () => {
  const { clock, transport, send, controller } = crowded()
  transport.answers = () => 'not_found'
  for (let i = 0; i < 5; i++) void send()
  await clock.advance(second)
  expect(transport.asked).toHaveLength(5)
  transport.answers = () => ({ items: [] })
  for (let i = 0; i < 2; i++) void send()
  const waiting = send()
  await clock.advance(second)
  controller.abort()
  await waiting
  expect(transport.asked).toHaveLength(7)
})

it('what waited for room until it is too late is planned anew, and never debited', async () => {
  const { clock, ledger, send, sent, release } = crowded()
  for (let i = 0; i < 2; i++) void send()
  await clock.advance(0)
  const late = send({ life: minute / 2 })
  await clock.advance(minute)
  release()
  await late
  expect(sent).toEqual([{ outcome: 'late' }])
  expect(ledger.taken).toHaveLength(2)
})

it('what waited for room goes at its pace all the same, and not at once', async () => {
  const { clock, transport, send, release } = crowded(roomForTwo, kibibyte)
  const log = requestLine(roomLog.operation, { region: 'ap', appId: 'a1', roomUuid: 'r' })
  const paced = { request: log, limit: { ...counted, counted: 'process', rates: [perSecond(5)] } } as const
  // Tells that they are light.
  void send(paced)
  await clock.advance(second)
  release()
  transport.size = 52 * kibibyte
  for (let i = 0; i < 2; i++) void send()
  await clock.advance(second)
  transport.size = kibibyte
  transport.asked.length = 0
  for (let i = 0; i < 6; i++) void send(paced)
  await clock.advance(10 * second)
  expect(transport.asked).toHaveLength(0)
  release()
  const counts: number[] = []
  for (let n = 0; n < 6; n++) {
    await clock.advance(n === 0 ? 0 : 200)
    counts.push(transport.asked.length)
  }
  expect(counts).toEqual([1, 2, 3, 4, 5, 6])
})

describe('what is fetched and not yet committed', () => {
  const perApp = (app: number): GroupLimit => ({ ...counted, scope: `${app}`, counted: 'process' })

  it.each([
    ['10,000 apps, and little of each', 10_000, 50, MOST_ROOM.light / (4 * kibibyte)],
    ['1,000 apps, with pages of events', 1_000, 27 * kibibyte, MOST_ROOM.light / (27 * kibibyte)],
    ['1,000 apps, with large pages', 1_000, 900 * kibibyte, MOST_ROOM.heavy / (900 * kibibyte)],
    ['the largest body of all', 2, 16_384 * kibibyte, 1],
  ])('has its bound whatever comes: %s', async (_, apps, size, most) => {
    const { clock, transport, send, release } = crowded(MOST_ROOM, size)
    // The first ones tell how much an answer weighs.
    void send({ limit: perApp(0) })
    await clock.advance(second)
    release()
    transport.asked.length = 0
    for (let app = 1; app <= apps; app++) void send({ app: `a${app}`, limit: perApp(app) })
    await clock.advance(second)
    expect(transport.asked.length).toBeLessThanOrEqual(most)
    expect(transport.asked.length).toBeGreaterThanOrEqual(Math.floor(most / 2))
    expect(transport.asked.length).toBeGreaterThan(0)
  })
})
