import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDelayQueue } from '../../../src/engine/series/delay-queue.ts'

type Step =
  | { readonly do: 'put'; readonly key: string; readonly due: number }
  | { readonly do: 'remove'; readonly key: string }
  | { readonly do: 'take'; readonly now: number }

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), key, due: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('take' as const), now: fc.nat(20) }) },
  ),
  { maxLength: 300 },
)

it('an agenda is a list sorted by time, in which each key stands once', () => {
  fc.assert(
    fc.property(steps, fc.nat(20), (steps, now) => {
      const agenda = createDelayQueue<string>()
      let model: { readonly key: string; readonly due: number }[] = []
      for (const step of steps) {
        if (step.do === 'take') {
          const first = model[0] && model[0].due <= step.now ? model[0] : undefined
          expect(agenda.take(step.now)).toBe(first?.key)
          if (first) model = model.slice(1)
          continue
        }
        model = model.filter(entry => entry.key !== step.key)
        if (step.do === 'remove') agenda.remove(step.key)
        else {
          agenda.put(step.key, step.due, step.key)
          model = [...model, step].sort((a, b) => a.due - b.due)
        }
        expect(agenda.next()).toBe(model[0]?.due)
        expect(agenda.dueOf(step.key)).toBe(model.find(entry => entry.key === step.key)?.due)
      }
      expect(agenda.size()).toBe(model.length)
      expect(agenda.countDue(now)).toBe(model.filter(entry => entry.due <= now).length)
    }),
  )
})

it('of equal times the one that was put first comes first', () => {
  const agenda = createDelayQueue<string>()
  for (const name of ['x', 'y', 'z']) agenda.put(name, 5, name)
  expect([agenda.take(5), agenda.take(5), agenda.take(5), agenda.take(5)]).toEqual(['x', 'y', 'z', undefined])
})
