import { expect, it } from 'vitest'
import { Admission, type Attempt, type Sent } from '../../../src/engine/admission/admission.ts'
import { createLoad } from '../../../src/engine/admission/load.ts'
import type { GroupLimit } from '../../../src/engine/settings.ts'
import { perSecond } from '../../../src/provider/limits.ts'
import { requestLine } from '../../../src/provider/operation.ts'
import { feed } from '../fake-streams.ts'
import { createHarness, fence, minute, second } from '../harness.ts'

const counted: GroupLimit = { scope: 'a1', rates: [perSecond(1_000)], concurrency: 8, counted: 'ledger' }

/** Room for two answers, beside what light ones have for themselves. */
function crowded() {
  const harness = createHarness([])
  harness.transport.size = 50
  const admission = new Admission({ ...harness, load: createLoad(120) }, 30 * second)
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
