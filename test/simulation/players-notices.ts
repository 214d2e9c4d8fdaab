import type { Notice, Sandbox } from '../../sandbox/src/index.ts'
import type { Examination } from './players-oracle.ts'

export interface NoticeFindings {
  /** What is wrong with what is kept of notifications. */
  readonly wrong: readonly string[]
  readonly notices: {
    /** Notifications by what became of them at the provider, and deliveries of them. */
    readonly sent: Readonly<Record<string, number>>
    readonly deliveries: number
    readonly stored: number
    /** Between an event and a notification of it that arrived behind a newer one. */
    readonly disordered: number
    /** Until the next list of the app, ms: of half of them at most, of 95 of 100 at most, of all. */
    readonly untilListed: { readonly p50: number; readonly p95: number; readonly most: number }
  }
}

interface StoredNotice {
  readonly key: string
  readonly type: number
  readonly player: string | null
  readonly notified: number
  readonly received: number
  readonly status: string | null
}

const readNotices = `
  select app_id || ' ' || notice_id as key, event_type as type, player_id as player, payload->'player'->>'status' as status,
         round(extract(epoch from notified_at) * 1000)::float8 as notified,
         round(extract(epoch from received_at) * 1000)::float8 as received
  from players.notification`

/** Tokens and keys of players, as the driver and the sandbox make them up. */
const readSecrets = `
  select 'a secret of a player is stored' as wrong from players.notification where payload::text ~ 'canary|player-secret'
  union all
  select 'a secret of a player is stored' from players.cloud_player p where p::text ~ 'canary|player-secret'
  union all
  select 'a secret of a player is in a dead letter' from ingest.dead_letter l where encode(l.body, 'escape') ~ 'canary|player-secret'
  union all
  select 'a dead letter of a notification: ' || detail from ingest.dead_letter where detail like '%notification%'`

/** Every notification that was accepted is kept once, and none that was not. */
export async function examineNotices({
  sandbox,
  database,
  mail,
  models,
}: Examination): Promise<NoticeFindings> {
  const wrong: string[] = []
  const complain = (text: string) => {
    if (wrong.length < 10) wrong.push(text)
  }
  const rows = await database.rows<StoredNotice>(readNotices)
  const stored = new Map(rows.map(row => [row.key, row]))
  if (stored.size !== rows.length) complain('a notification is kept twice')
  const sent: Record<string, number> = {}
  let deliveries = 0
  let disordered = 0
  for (const app of models.keys()) {
    const notices = sandbox.notices(app)
    disordered += disorderOf(notices)
    for (const notice of notices) {
      const { outcome, sentAt } = notice
      sent[outcome] = (sent[outcome] ?? 0) + 1
      deliveries += sentAt.length
      const key = `${app} ${notice.noticeId}`
      const row = stored.get(key)
      stored.delete(key)
      if (outcome === 'lost' && row) complain(`kept and never sent: ${key}`)
      if (outcome === 'delivered' && !row) complain(`accepted and not kept: ${key}`)
      if (row) compare(key, notice, row, complain)
    }
  }
  for (const { app, noticeId, kind, answers } of mail.lies) {
    const row = stored.get(`${app} ${noticeId}`)
    stored.delete(`${app} ${noticeId}`)
    if (kind === 'forged' && (row || answers.some(status => status !== 401)))
      complain(`believed: ${noticeId}`)
    if (kind === 'signed' && answers.includes(200) && !row) complain(`accepted and not kept: ${noticeId}`)
  }
  for (const key of stored.keys()) complain(`kept and never told: ${key}`)
  for (const row of await database.rows<{ wrong: string }>(readSecrets)) complain(row.wrong)
  return {
    wrong,
    notices: {
      sent,
      deliveries,
      stored: rows.length,
      disordered,
      untilListed: reactions(sandbox, mail.taken),
    },
  }
}

function compare(key: string, notice: Notice, row: StoredNotice, complain: (text: string) => void): void {
  const isSame =
    row.type === notice.eventType &&
    row.player === notice.playerId &&
    notice.sentAt.includes(row.notified) &&
    row.received >= row.notified &&
    row.status !== null
  if (!isSame) complain(`kept otherwise than told: ${key}`)
}

/** Those whose first delivery came after that of a later event of the same player. */
function disorderOf(notices: readonly Notice[]): number {
  let count = 0
  for (const group of Map.groupBy(notices, ({ playerId }) => playerId).values()) {
    let latest = Number.POSITIVE_INFINITY
    for (const { sentAt } of group.toReversed()) {
      const first = sentAt[0]
      if (first === undefined) continue
      if (first > latest) count += 1
      latest = Math.min(latest, first)
    }
  }
  return count
}

function reactions(sandbox: Sandbox, taken: ReadonlyMap<string, number>) {
  const lists = new Map<string, number[]>()
  for (const { operation, app = '', time, target } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    if (operation !== 'listPlayers' || target.includes('pageToken')) continue
    const times = lists.get(app) ?? []
    lists.set(app, times)
    times.push(time)
  }
  const waits = [...taken].flatMap(([key, at]) => {
    const next = firstAfter(lists.get(key.split(' ')[0]!) ?? [], at)
    return next === undefined ? [] : [next - at]
  })
  const sorted = waits.toSorted((one, other) => one - other)
  const share = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { p50: share(0.5), p95: share(0.95), most: sorted.at(-1) ?? 0 }
}

/** The first of these rising times that is not before `at`. */
function firstAfter(times: readonly number[], at: number): number | undefined {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (times[middle]! < at) low = middle + 1
    else high = middle
  }
  return times[low]
}
