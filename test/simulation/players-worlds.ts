import type { FaultRule, Switches } from '../../sandbox/src/index.ts'
import type { PlayersDayOptions } from './players-day.ts'

const second = 1_000
const minute = 60 * second

export type PlayersWorld = Pick<
  PlayersDayOptions,
  'apps' | 'switches' | 'faults' | 'quirks' | 'delay' | 'cuts' | 'stalls' | 'lieEvery'
> & { readonly switches: Partial<Switches> }

/** What becomes of requests at the provider, before and after it acted. */
const faults: readonly FaultRule[] = [
  { kind: 'status', operation: 'createPlayer', status: 504, rate: 0.03 },
  { kind: 'status-after-acting', operation: 'createPlayer', rate: 0.03 },
  { kind: 'reset', operation: 'createPlayer', rate: 0.01 },
  { kind: 'lost-response', operation: 'createPlayer', rate: 0.01 },
  { kind: 'status', operation: 'deletePlayer', status: 504, rate: 0.03 },
  { kind: 'status-after-acting', operation: 'deletePlayer', rate: 0.03 },
  { kind: 'status', operation: 'listPlayers', status: 504, rate: 0.01 },
  { kind: 'status', operation: 'listPlayers', status: 503, rate: 0.005 },
  { kind: 'status', operation: 'listPlayers', status: 500, rate: 0.005 },
  { kind: 'status', operation: 'listPlayers', status: 429, rate: 0.002, retryAfter: '20' },
  { kind: 'reset', operation: 'listPlayers', rate: 0.01 },
  { kind: 'truncated', operation: 'listPlayers', rate: 0.005 },
  { kind: 'malformed', operation: 'listPlayers', rate: 0.005 },
  { kind: 'html', operation: 'listPlayers', rate: 0.005 },
  { kind: 'wrong-types', operation: 'listPlayers', rate: 0.03 },
  { kind: 'redirect', operation: 'listPlayers', rate: 0.002 },
  { kind: 'looping-next-id', operation: 'listPlayers', rate: 0.002 },
]

const notices: Partial<Switches> = {
  noticeLossRate: 0.1,
  noticeRepeatRate: 0.1,
  noticeDisorderRate: 0.2,
}

const troubles = { faults, delay: 3_000, cuts: 1 / 100, lieEvery: 5 * minute }

export const playersWorlds = {
  /** A school: players come and go, and the entries of their lists are whole. */
  class: {
    apps: { school: { crowd: 0, every: 30 * second, life: 10 * minute } },
    switches: { ...notices, playerDestroysPerHour: 0.5, playerFailRate: 0.05 },
    ...troubles,
    quirks: { omit: 0.02, cut: 0.005 },
  },
  /** Entries are thin, and a player shows and hides again while it is new. */
  thin: {
    apps: { school: { crowd: 0, every: 30 * second, life: 10 * minute } },
    switches: {
      ...{ ...notices, playerDestroysPerHour: 0.5, playerFailRate: 0.05 },
      ...{ playerList: 'thin', listBlindSeconds: 0, playerLimits: 'split', limiter: 'fixed' },
    },
    ...troubles,
    quirks: { flicker: 0.5, omit: 0.02, cut: 0.005 },
  },
  /** More players than a page of a list holds, beside an app with few. */
  crowd: {
    apps: {
      hall: { crowd: 620, every: minute, life: 10 * minute },
      room: { crowd: 0, every: 2 * minute, life: 5 * minute },
    },
    switches: { ...notices, playerQuota: 1_000, playerDestroysPerHour: 0.05, playerFailRate: 0.02 },
    ...troubles,
    quirks: { omit: 0.02, cut: 0.005 },
  },
} as const satisfies Readonly<Record<string, PlayersWorld>>

export type PlayersWorldName = keyof typeof playersWorlds
