import type { Random } from '../../src/clock/clock.ts'

/** Chance in the words that a description of a school needs. */
export interface Draw {
  chance(probability: number): boolean
  between(least: number, most: number): number
  /** A whole number, both ends included. */
  whole(least: number, most: number): number
  /** A waiting time whose mean is given: many short, a few long. */
  wait(mean: number): number
  pick<T>(choices: readonly T[]): T
  /** Picks by weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T
  id(): string
}

export function drawFrom(random: Random): Draw {
  const between = (least: number, most: number) => least + random.next() * (most - least)
  const whole = (least: number, most: number) => Math.floor(between(least, most + 1))
  return {
    chance: probability => random.next() < probability,
    between,
    whole,
    wait: mean => -Math.log(1 - random.next()) * mean,
    pick: choices => choices[whole(0, choices.length - 1)]!,
    weighted: choices => {
      let left = between(
        0,
        choices.reduce((sum, [weight]) => sum + weight, 0),
      )
      const found = choices.find(([weight]) => {
        left -= weight
        return left < 0
      })
      return (found ?? choices.at(-1)!)[1]
    },
    id: () => random.uuid().replaceAll('-', ''),
  }
}
