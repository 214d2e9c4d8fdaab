import { hashOn, shareOf } from '../hash.ts'

/**
 * What a metric of a session looks like: around `usual`, give or take `spread`; in a bad call around `bad`.
 * `seldom` is the share of the values that are not 0.
 */
interface Vital {
  /** A mean over the time between two values, with as many digits as a number can have; others are whole. */
  readonly isMean?: true
  readonly usual: number
  readonly spread: number
  readonly bad: number
  readonly seldom?: number
}

/** Metrics of the local user. */
export const ownVitals: Readonly<Record<number, Vital>> = {
  20001: { isMean: true, usual: 14, spread: 8, bad: 38 },
  20002: { isMean: true, usual: 35, spread: 20, bad: 80 },
  20021: { usual: 5, spread: 4, bad: 40 },
  20022: { usual: 32, spread: 20, bad: 260 },
}

/** Further metrics of a user who speaks, and therefore sends. */
export const senderVitals: Readonly<Record<number, Vital>> = {
  20003: { isMean: true, usual: 48, spread: 8, bad: 30 },
  20006: { isMean: true, usual: 90, spread: 20, bad: 50 },
  20007: { isMean: true, usual: 24, spread: 3, bad: 15 },
  20008: { isMean: true, usual: 23, spread: 3, bad: 12 },
  20013: { usual: 26, spread: 4, bad: 38 },
  20015: { usual: 1, spread: 1, bad: 14 },
  20017: { usual: 1, spread: 1, bad: 16 },
  20023: { isMean: true, usual: 14, spread: 2, bad: 8 },
  20024: { isMean: true, usual: 780, spread: 160, bad: 260 },
  20025: { usual: 52, spread: 20, bad: 45 },
  20027: { usual: 640, spread: 0, bad: 640 },
  20028: { usual: 360, spread: 0, bad: 360 },
}

/** Metrics of a remote user whom the local one receives. */
export const receiverVitals: Readonly<Record<number, Vital>> = {
  20004: { isMean: true, usual: 46, spread: 8, bad: 28 },
  20005: { usual: 240, spread: 180, bad: 700, seldom: 0.02 },
  20009: { isMean: true, usual: 760, spread: 160, bad: 240 },
  20010: { isMean: true, usual: 22, spread: 3, bad: 10 },
  20011: { usual: 320, spread: 240, bad: 900, seldom: 0.04 },
  20016: { usual: 1, spread: 1, bad: 15 },
  20018: { usual: 1, spread: 1, bad: 18 },
  20019: { usual: 640, spread: 0, bad: 640 },
  20020: { usual: 360, spread: 0, bad: 360 },
  20026: { usual: 48, spread: 20, bad: 40 },
}

/** In a bad call this much more often. */
const seldomWhenBad = 8

/** The value at a moment; equal arguments give equal values. `hash` stands for the session, metric and peer. */
export function vitalAt(vital: Vital, hash: number, second: number, quality: 'usual' | 'bad'): number {
  const chance = hashOn(hash, second)
  const often = (vital.seldom ?? 1) * (quality === 'bad' ? seldomWhenBad : 1)
  if (shareOf(hashOn(chance, 1)) >= often) return 0
  const middle = vital[quality]
  const value = Math.max(0, middle + (2 * shareOf(chance) - 1) * vital.spread)
  return vital.isMean ? value : Math.round(value)
}
