import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../sandbox/src/seeded.ts'
import type { ClockOffset } from '../../../src/engine/ports.ts'
import type { Told } from '../../../src/engine/ranges/learned-bounds.ts'
import { createRangeRules, type RangeRules } from '../../../src/engine/ranges/range-rules.ts'

const second = 1_000
const now = 1_800_000_000
const limits = { availableData: 7_200, timeFrame: 3_600, dataDelay: 300 }
const clock = {
  now: () => now * second,
  monotonic: () => 0,
  sleep: () => Promise.reject(new Error('no sleep')),
}

const rulesAt = (offset: ClockOffset | undefined) => createRangeRules(limits, clock, () => offset)
const bounds = (offset: ClockOffset | undefined) => rulesAt(offset).bounds()

describe('what may be asked for', () => {
  it('goes by the provider’s clock', () => {
    const right = bounds({ ahead: 0, doubt: 0 })
    const ahead = bounds({ ahead: 90 * second, doubt: 0 })
    expect(ahead).toEqual({ after: right.after + 90, before: right.before + 90 })
  })

  it('keeps away from both bounds by what the provider’s clock may be wrong, above the second it is told to', () => {
    const right = bounds({ ahead: 0, doubt: 500 })
    expect(bounds({ ahead: 0, doubt: second })).toEqual(right)
    expect(bounds({ ahead: 0, doubt: 20.5 * second })).toEqual({
      after: right.after + 20,
      before: right.before - 20,
    })
    expect(rulesAt({ ahead: 0, doubt: 21 * second }).slack()).toBe(
      rulesAt({ ahead: 0, doubt: 0 }).slack() + 20,
    )
  })

  it('is never less for a doubtful clock than for one that is not known', () => {
    expect(bounds({ ahead: 0, doubt: 86_400 * second })).toEqual(bounds(undefined))
  })

  it('is not what a provider that is a quarter of an hour behind takes for too young, before it has told the time', () => {
    const { before } = bounds(undefined)
    expect(before).toBeLessThan(now - 900 - limits.dataDelay)
    expect(before).toBeGreaterThan(now - 910 - limits.dataDelay)
    // Its beginning would be lost by that.
    expect(bounds(undefined).after).toBe(bounds({ ahead: 0, doubt: 0 }).after + 120)
  })

  it('is that no longer once a question was served by a provider that tells no time', async () => {
    const rules = rulesAt(undefined)
    const { after, before } = rules.bounds()
    const question = rules.begin({ start: after + 1, end: before - 1 })!
    await question.of(Promise.resolve(), () => 'served')
    expect(rules.bounds().before).toBe(bounds({ ahead: 0, doubt: 0 }).before - 120)
  })

  it('is so for all limit groups of the service, because its clock is one', async () => {
    const proof = { wasServed: false }
    const [calls, details] = [limits, { ...limits, timeFrame: 600 }].map(each =>
      createRangeRules(each, clock, () => undefined, proof),
    ) as [RangeRules, RangeRules]
    const question = calls.begin({ start: now - 7_000, end: now - 6_000 })!
    await question.of(Promise.resolve(), () => 'served')
    expect(details.bounds()).toEqual(calls.bounds())
    expect(details.bounds().before).toBe(bounds({ ahead: 0, doubt: 0 }).before - 120)
  })

  it('is most of what there is, however little that is', () => {
    const little = { availableData: 340, timeFrame: 300, dataDelay: 20 }
    const { after, before } = createRangeRules(little, clock, () => undefined).bounds()
    expect(now - little.dataDelay - before).toBeLessThan(90)
    expect(before - after).toBeGreaterThan(100)
  })

  it('is lost only when it is so by the latest the provider’s clock can be', () => {
    expect(rulesAt({ ahead: 0, doubt: 0 }).gone(1)).toBe(now - limits.availableData)
    expect(rulesAt({ ahead: 0, doubt: 31 * second }).gone(1)).toBe(now - limits.availableData - 30)
    const far = { ahead: -3_600 * second, doubt: 0, beyond: 7_200 * second }
    expect(rulesAt(far).gone(1)).toBe(now - limits.availableData - 3 * 3_600)
  })

  it('is not known to be lost before the provider has told the time, or served a question', async () => {
    const rules = createRangeRules(limits, clock, () => undefined)
    expect(rules.gone(1)).toBe(Number.NEGATIVE_INFINITY)
    const { after, before } = rules.bounds()
    await rules.begin({ start: after + 60, end: before - 60 })!.of(Promise.resolve(), () => 'served')
    expect(rules.gone(1)).toBe(now - limits.availableData - 120)
  })
})

/** Asks about ranges of any age and length that rules permit, one a minute for nine hours. */
async function refusedOf(broken: (asked: { age: number; length: number; dataDelay: number }) => Told) {
  const time = { passed: 0 }
  const moving = { ...clock, now: () => now * second + time.passed, monotonic: () => time.passed }
  const rules = createRangeRules(limits, moving, () => ({ ahead: 0, doubt: 0 }))
  const random = seededRandom('ranges')
  const told = { asked: 0, refused: 0 }
  for (let minute = 0; minute < 540; minute++) {
    const { after, before } = rules.bounds()
    const length = Math.ceil(random.next() * 3_500)
    const start = Math.floor(after + 1 + random.next() ** 2 * (before - after - length))
    const end = Math.min(start + length, before - 1)
    const asked = { age: rules.now() - start, length: end - start, dataDelay: rules.now() - end }
    const attempt = end - start < rules.timeFrame() ? rules.begin({ start, end }) : undefined
    const outcome = broken(asked)
    await attempt?.of(Promise.resolve(), () => outcome)
    if (attempt) told[outcome === 'served' ? 'asked' : 'refused'] += 1
    time.passed += 60 * second
  }
  return told
}

describe('a provider that serves less than is documented', () => {
  it.each<[string, Parameters<typeof refusedOf>[0]]>([
    ['timeFrame', ({ length }) => (length < 1_800 ? 'served' : 'time_length_limit')],
    ['availableData', ({ age }) => (age < 3_900 ? 'served' : 'time_range_limit')],
    ['availableData, a fifth of it', ({ age }) => (age < 1_440 ? 'served' : 'time_range_limit')],
    ['dataDelay', ({ dataDelay }) => (dataDelay > 800 ? 'served' : 'latency_limit')],
  ])('in %s teaches it by a few refusals, whatever is asked for', async (_, broken) => {
    const { asked, refused } = await refusedOf(broken)
    expect(refused).toBeLessThan(16)
    expect(asked).toBeGreaterThan(200)
  })
})

describe('a question that waits while a bound is tightened', () => {
  it.each<[string, Told, 'start' | 'end']>([
    ['the end', 'latency_limit', 'end'],
    ['the start', 'time_range_limit', 'start'],
  ])('is outdated where it is as near to %s as what was refused', async (_, refusal, bound) => {
    const rules = rulesAt({ ahead: 0, doubt: 0 })
    const { after, before } = rules.bounds()
    const near =
      bound === 'end' ? { start: before - 60, end: before - 1 } : { start: after + 1, end: after + 60 }
    const away = { start: now - 3_700, end: now - 3_600 }
    const begun = [near, near, away].map(asked => rules.begin(asked)!)
    expect(begun.map(({ isOutdated }) => isOutdated())).toEqual([false, false, false])
    await begun[0]!.of(Promise.resolve(), () => refusal)
    expect(begun.map(({ isOutdated }) => isOutdated())).toEqual([true, true, false])
  })
})

describe('a bound that a refusal tightened', () => {
  /** A series of questions about the oldest that may be asked for, by a provider that serves them or does not. */
  function asking() {
    const time = { passed: 0 }
    const moving = { ...clock, now: () => now * second + time.passed, monotonic: () => time.passed }
    const rules = createRangeRules(limits, moving, () => ({ ahead: 0, doubt: 0 }))
    const cut = { step: 1, frame: 'needed', allowedLateness: 0 } as const
    /** Asks from the edge on; answers how far from the documented edge it began, or that nothing was asked. */
    const ask = async (told: Told | ((start: number) => Told)) => {
      const { availableData, margin } = rules.of(cut)
      const start = rules.now() - availableData + margin.start + 1
      const attempt = rules.begin({ start, end: start + 60 })
      await attempt?.of(Promise.resolve(), () => (typeof told === 'string' ? told : told(margin.start)))
      return attempt ? margin.start : undefined
    }
    const wait = (ms: number) => {
      time.passed += ms
    }
    return { rules, ask, wait, cut }
  }

  it('is tried again as documented by one request, and holds when it is served', async () => {
    const { ask, wait } = asking()
    const documented = await ask('served')
    await ask('time_range_limit')
    const tight = await ask('served')
    expect(tight).toBeGreaterThan(documented!)
    wait(10 * 60 * second)
    expect(await ask('served')).toBe(documented)
    expect(await ask('served')).toBe(documented)
  })

  it('is tried by one request at a time', () => {
    const { rules, wait, cut } = asking()
    const start = () => rules.now() - limits.availableData + rules.of(cut).margin.start + 1
    const refused = rules.begin({ start: start(), end: start() + 60 })!
    return refused
      .of(Promise.resolve(), () => 'time_range_limit')
      .then(() => {
        wait(10 * 60 * second)
        const [first, second_] = [start(), start()]
        expect(rules.begin({ start: first, end: first + 60 })).toBeDefined()
        expect(rules.begin({ start: second_, end: second_ + 60 })).toBeUndefined()
        expect(start()).toBeGreaterThan(second_)
      })
  })

  it('is felt for by one question at a time, however many wait to be asked', async () => {
    const { rules, wait } = asking()
    const ends = Array.from({ length: 6 }, () => rules.bounds().before - 1)
    const refused: number[] = []
    const served: number[] = []
    for (let turn = 0; turn < 200 && served.length < ends.length; turn++) {
      const { before } = rules.bounds()
      const ready = ends.filter((end, n) => end < before && !served.includes(n))
      const sent = ready.flatMap(end => {
        // Each looks at the bounds as they are when it is about to be sent.
        const attempt = end < rules.bounds().before ? rules.begin({ start: end - 60, end }) : undefined
        return attempt ? [{ attempt, end }] : []
      })
      const told = rules.now() - (ends[0] ?? 0) > 700 ? 'served' : 'latency_limit'
      for (const [n, { attempt }] of sent.entries()) {
        await attempt.of(Promise.resolve(), () => told)
        if (told === 'served') served.push(ends.findIndex((_, of) => !served.includes(of)))
        else refused.push(n)
      }
      wait(5 * second)
    }
    expect(served).toHaveLength(6)
    // All that were under way at first, and then one for each time that the bound moves.
    expect(refused.length).toBeLessThan(6 + 7)
  })

  it('is tried after longer and longer while the trials are refused', async () => {
    const { ask, wait } = asking()
    const documented = (await ask('served'))!
    const strict = (start: number): Told => (start === documented ? 'time_range_limit' : 'served')
    await ask('time_range_limit')
    const tight = await ask(strict)
    const trials: number[] = []
    for (let minute = 0; minute <= 6 * 60; minute++) {
      if ((await ask(strict)) === documented) trials.push(minute)
      wait(60 * second)
    }
    const pauses = trials.slice(1).map((at, n) => at - trials[n]!)
    expect(trials[0]).toBe(10)
    expect(pauses).toEqual([20, 40, 80, 160])
    expect(await ask(strict)).toBe(tight)
  })

  it.each([0.7, 0.43, 0.2])(
    'comes near to where it is, where a plan has no more than %f of it',
    async share => {
      const { rules, ask, wait, cut } = asking()
      const real = (1 - share) * limits.availableData
      let refused = 0
      for (let minute = 0; minute < 180; minute++) {
        await ask(start => {
          const isServed = start + 1 > real
          if (!isServed) refused += 1
          return isServed ? 'served' : 'time_range_limit'
        })
        wait(60 * second)
      }
      const { start } = rules.of(cut).margin
      expect(start).toBeGreaterThanOrEqual(real)
      expect(start - real).toBeLessThan(0.06 * limits.availableData)
      expect(refused).toBeLessThan(24)
    },
  )

  it('of the delay is moved by as much as another plan has, and one that was refused for a while is had again at once', async () => {
    const long = { availableData: 60 * 86_400, timeFrame: 86_400, dataDelay: 6 * 3_600 }
    const time = { passed: 0 }
    const moving = { ...clock, now: () => now * second + time.passed, monotonic: () => time.passed }
    const rules = createRangeRules(long, moving, () => ({ ahead: 0, doubt: 0 }))
    const ask = async (delay: number) => {
      const end =
        rules.now() -
        long.dataDelay -
        rules.of({ step: 1, frame: 'needed', allowedLateness: 0 }).margin.end -
        1
      const told = rules.now() - end > delay ? 'served' : 'latency_limit'
      await rules.begin({ start: end - 60, end })?.of(Promise.resolve(), () => told)
      time.passed += 60 * second
      return told
    }
    const told = []
    for (let minute = 0; minute < 240; minute++) told.push(await ask(12 * 3_600))
    expect(told.filter(each => each === 'served').length).toBeGreaterThan(200)
    const late = rules.now() - rules.bounds().before - 12 * 3_600
    expect(late).toBeLessThan(1_800)
    for (let minute = 0; minute < 300; minute++) await ask(6 * 3_600)
    expect(rules.now() - rules.bounds().before).toBeLessThan(6 * 3_600 + 60)
  })

  it('is not tried while what is within it is refused too, and soon after that', async () => {
    const { ask, wait } = asking()
    const documented = await ask('served')
    for (let minute = 0; minute <= 120; minute++) {
      expect((await ask('time_range_limit')) === documented).toBe(minute === 0)
      wait(60 * second)
    }
    wait(10 * 60 * second)
    expect(await ask('served')).toBe(documented)
  })
})
