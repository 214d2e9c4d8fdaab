import type { StoreGauges } from '../engine/ports.ts'
import { playerStatuses } from '../provider/players/index.ts'
import { closedLabel, type Instruments, type Label } from './instruments.ts'

const lossWindows = ['hour', 'day'] as const

const gapStates = ['open', 'repaired', 'absent', 'lost']

/** Those of the provider, and that of a player of which no list told one. */
const statuses = [...playerStatuses, 'unknown']
const statusLabel = closedLabel(statuses)

/** Sets what the database tells, of all apps together. */
export function setStoreGauges(
  metrics: Instruments,
  streams: readonly string[],
  app: Label,
  read: StoreGauges,
): void {
  const stream = closedLabel(streams)
  metrics.gaps.reset()
  metrics.rooms.reset()
  metrics.recentLosses.reset()
  for (const each of streams) {
    for (const state of gapStates) metrics.gaps.set({ stream: each, state }, 0)
    for (const window of lossWindows) metrics.recentLosses.set({ stream: each, window }, 0)
  }
  for (const gap of read.gaps) metrics.gaps.inc({ stream: stream(gap.stream), state: gap.state }, gap.gaps)
  for (const loss of read.losses ?? []) {
    for (const window of lossWindows) {
      metrics.recentLosses.inc({ stream: stream(loss.stream), window }, loss[window])
    }
  }
  for (const { table, rows } of read.leftBehind ?? []) metrics.defaultRows.set({ table }, rows)
  for (const { state, count } of read.rooms) metrics.rooms.inc({ state }, count)
  setPlayers(metrics, app, read)
}

/** Players by app; apps without a label of their own are added up. Every app whose list was read has all statuses. */
function setPlayers(
  metrics: Pick<Instruments, 'players' | 'orphanPlayers'>,
  app: Label,
  { players = [], orphans = [] }: StoreGauges,
): void {
  metrics.players.reset()
  metrics.orphanPlayers.reset()
  for (const { app: id, count } of orphans) {
    for (const status of statuses) metrics.players.inc({ app: app(id), status }, 0)
    metrics.orphanPlayers.inc({ app: app(id) }, count)
  }
  for (const { app: id, status, count } of players) {
    metrics.players.inc({ app: app(id), status: statusLabel(status) }, count)
  }
}
