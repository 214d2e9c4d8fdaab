import type { qualityMetrics } from '../../../src/provider/analytics/index.ts'
import { befalls, hashOf, hashOn, shareOf } from '../hash.ts'

export type QualityMetric = (typeof qualityMetrics)[number]

/** Rates in percent: what is usual, give or take `spread`, and what a bad call adds to it. */
const shapes: Readonly<
  Record<QualityMetric, { readonly usual: number; readonly spread: number; readonly bad: number }>
> = {
  joinSuccessRate: { usual: 99.2, spread: 0.7, bad: -12 },
  joinSuccessIn5sRate: { usual: 97.5, spread: 1.5, bad: -20 },
  audioFreezeRate: { usual: 1.8, spread: 1.2, bad: 14 },
  videoFreezeRate: { usual: 3.2, spread: 2, bad: 22 },
  networkDelay: { usual: 2.5, spread: 1.8, bad: 25 },
}

/** Where nobody is in a call, nothing freezes and nobody fails to join. */
export const idleQuality: Readonly<Record<QualityMetric, number>> = {
  joinSuccessRate: 100,
  joinSuccessIn5sRate: 100,
  audioFreezeRate: 0,
  videoFreezeRate: 0,
  networkDelay: 0,
}

const badCalls = 0.04

/** Now and then a call goes badly from beginning to end. */
export function isBadCall(callId: string): boolean {
  return befalls(badCalls, 'bad', callId)
}

/** Percent, two digits after the point. `hash` stands for whom or what the value is of. */
export function qualityAt(metric: QualityMetric, hash: number, ts: number, kind: 'usual' | 'bad'): number {
  const { usual, spread, bad } = shapes[metric]
  const around = (2 * shareOf(hashOn(hashOn(hash, hashOf(metric)), ts)) - 1) * spread
  return toPercent(usual + around + (kind === 'bad' ? bad : 0))
}

export function toPercent(value: number): number {
  return Math.round(Math.min(100, Math.max(0, value)) * 100) / 100
}
