import type { StoreGauges } from '../engine/ports.ts'
import { playerStatuses } from '../provider/players/index.ts'
import { closedLabel, type Instruments } from './instruments.ts'

/** Those of the provider, and that of a player of which no list told one. */
const statuses = [...playerStatuses, 'unknown']
const statusLabel = closedLabel(statuses)

/** Players by app; apps without a label of their own are added up. Every app whose list was read has all statuses. */
export function setPlayers(
  metrics: Pick<Instruments, 'players' | 'orphanPlayers'>,
  { players = [], orphans = [] }: StoreGauges,
  app: (id: string) => string,
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
