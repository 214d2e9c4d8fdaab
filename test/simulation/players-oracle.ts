import type { Sandbox, TruePlayer } from '../../sandbox/src/index.ts'
import type { VirtualDatabase } from './database.ts'
import type { PlayersMail } from './players-mail.ts'
import type { Known, PlayersModel } from './players-model.ts'
import { examineNotices, type NoticeFindings } from './players-notices.ts'

/** What a day of players came to. */
export interface PlayersFindings extends NoticeFindings {
  /** Everything that is not as it must be, one sentence each; the first of every kind. */
  readonly wrong: readonly string[]
  /** How many of each kind. */
  readonly wrongCounts: Readonly<Record<string, number>>
  /** Violations by kind, as the sandbox counted them on arrival. */
  readonly violations: Readonly<Record<string, number>>
  /** Lists by status of their answer; `lost` is none. */
  readonly lists: Readonly<Record<string, number>>
  /** Complete readings that were committed. */
  readonly readings: number
  /** Players that ever were, that a list ever showed, that are gone; and changes of status that lists showed. */
  readonly players: {
    readonly made: number
    readonly listed: number
    readonly gone: number
    readonly changes: number
  }
  /** Most players of one app at the same time. */
  readonly most: number
  /** Players that ended, by reason. */
  readonly ends: Readonly<Record<string, number>>
}

export interface Examination {
  readonly sandbox: Sandbox
  readonly database: VirtualDatabase
  readonly mail: PlayersMail
  readonly models: ReadonlyMap<string, PlayersModel>
  /** Since when nothing goes wrong any more, ms since the epoch. */
  readonly calmSince: number
  readonly end: number
}

interface StoredPlayer {
  readonly app: string
  readonly id: string
  readonly region: string | null
  readonly name: string | null
  readonly uid: string | null
  readonly account: string | null
  readonly channelName: string | null
  readonly streamUrl: string | null
  readonly status: string | null
  readonly createTs: number | null
  readonly first: number
  readonly last: number | null
  readonly destroyed: number | null
  readonly extra: object | null
}

interface StoredChange {
  readonly app: string
  readonly id: string
  readonly at: number
  readonly from: string | null
  readonly to: string
  readonly source: string
}

const ms = (column: string) => `round(extract(epoch from ${column}) * 1000)::float8`

const readPlayers = `
  select app_id as app, player_id as id, region, name, uid, account, channel_name as "channelName", stream_url as "streamUrl",
         status, extract(epoch from created_at)::float8 as "createTs", ${ms('first_seen_at')} as first,
         ${ms('last_seen_at')} as last, ${ms('destroyed_at')} as destroyed, extra
  from players.cloud_player`

const readChanges = `
  select app_id as app, player_id as id, ${ms('changed_at')} as at, from_status as from, to_status as to, source
  from players.cloud_player_change order by app_id, player_id, changed_at`

/** A player younger than this may be missing from lists, ms; its time of creation is known to the second. */
const blind = 11_000
/** How long what happens takes to be seen while nothing goes wrong, ms: two readings and a queue before them. */
const longestUnseen = 90_000

/** Holds what is stored against the world, and against the lists that were answered and committed. */
export async function examinePlayers(examination: Examination): Promise<PlayersFindings> {
  const { sandbox, database, models } = examination
  const complaints = createComplaints()
  const stored = new Map<string, StoredPlayer>()
  for (const row of await database.rows<StoredPlayer>(readPlayers)) stored.set(`${row.app} ${row.id}`, row)
  const changes = Map.groupBy(await database.rows<StoredChange>(readChanges), ({ app, id }) => `${app} ${id}`)
  const ends: Record<string, number> = {}
  const counts = { made: 0, listed: 0, gone: 0, changes: 0 }
  let most = 0
  for (const [app, model] of models) {
    const truth = sandbox.players(app)
    const made = new Set(truth.map(({ id }) => id))
    for (const id of model.players.keys())
      if (!made.has(id)) complaints.add('listed and never made', `${app} ${id}`)
    most = Math.max(most, mostAtOnce(truth))
    for (const player of truth) {
      const key = `${app} ${player.id}`
      const known = model.players.get(player.id)
      const row = stored.get(key)
      const history = changes.get(key) ?? []
      stored.delete(key)
      changes.delete(key)
      counts.made += 1
      if (player.reason) ends[player.reason] = (ends[player.reason] ?? 0) + 1
      if (known) counts.listed += 1
      if (row?.destroyed) counts.gone += 1
      counts.changes += history.length
      const complain = (kind: string, detail = '') => complaints.add(kind, `${key} ${detail}`)
      compareRow(player, known, row, complain)
      if (known) compareHistory(player, known, row, history, complain)
      else if (history.length > 0) complain('a history of a player that was never listed')
      comparePresent(player, row, examination, complain)
    }
  }
  for (const key of stored.keys()) complaints.add('stored and never made', key)
  for (const key of changes.keys()) complaints.add('a history of nobody', key)
  complaints.addAll(breachesOfLimits(sandbox))
  const notices = await examineNotices(examination)
  return {
    ...notices,
    wrong: [...complaints.first(), ...notices.wrong],
    wrongCounts: complaints.counts(),
    violations: violationsOf(sandbox),
    lists: listsOf(sandbox),
    readings: [...models.values()].reduce((sum, { complete }) => sum + complete, 0),
    ...{ players: counts, most, ends },
  }
}

type Complain = (kind: string, detail?: string) => void

/** What the addresses of this world hide, as readers may see it. */
function withoutSecrets(address: string): string {
  return address.replace(/viewer:canary-\d+@/, '[redacted]@').replace(/(\?\w+=).+/, '$1[redacted]')
}

/** The row says what the entries said: no less where some left it out, and no more. */
function compareRow(
  player: TruePlayer,
  known: Known | undefined,
  row: StoredPlayer | undefined,
  complain: Complain,
): void {
  if (!known) {
    if (row) complain('stored and never listed')
    return
  }
  if (!row) {
    complain('listed and not stored')
    return
  }
  const said = (field: string, value: unknown) => (known.shown.has(field) ? (value ?? null) : null)
  const expected = {
    // Nobody made it with this program, and lists do not tell it.
    region: null,
    name: said('name', player.name),
    uid: said('uid', player.uid === undefined ? null : String(player.uid)),
    account: said('account', player.account),
    channelName: said('channelName', player.channelName),
    streamUrl: said('streamUrl', withoutSecrets(player.streamUrl)),
    createTs: said('createTs', Math.floor(player.createdAt / 1_000)),
    extra: null,
  }
  for (const [field, value] of Object.entries(expected)) {
    const found = row[field as keyof typeof expected]
    if (found !== value)
      complain(`wrong ${field}`, `${JSON.stringify(found)} is not ${JSON.stringify(value)}`)
  }
  within('first_seen_at', row.first, known.first, complain)
  within('last_seen_at', row.last, known.last, complain)
}

/** The history is that of the entries, change by change, and ends when two complete readings lacked the player. */
function compareHistory(
  player: TruePlayer,
  { statuses, missing, last }: Known,
  row: StoredPlayer | undefined,
  history: readonly StoredChange[],
  complain: Complain,
): void {
  if (!row) return
  const destroyed = row.destroyed !== null
  const expected = [...statuses.map(({ to }) => to), ...(destroyed ? ['destroyed'] : [])]
  const found = history.map(({ to }) => to)
  if (found.join() !== expected.join()) complain('wrong history', `${found} is not ${expected}`)
  else {
    for (const [n, said] of statuses.entries()) within('changed_at', history[n]!.at, said, complain)
    if (destroyed && history.at(-1)!.at !== row.destroyed) complain('destroyed at two times')
  }
  for (const [n, { from, source }] of history.entries()) {
    if (from !== (found[n - 1] ?? null)) complain('a change that begins elsewhere')
    if (source !== 'list') complain('a change that no list showed', source)
  }
  for (const { to, arrived } of statuses) {
    if (statusAt(player, arrived) !== to) complain('an entry that was not so', `${to} at ${arrived}`)
  }
  const now = expected.at(-1) ?? null
  if (row.status !== now) complain('wrong status', `${row.status} is not ${now}`)
  if (destroyed) {
    const second = missing[1]
    if (!second) {
      complain('destroyed without two complete readings that lack it')
      return
    }
    if (row.destroyed! <= last.arrived) complain('destroyed before it was last listed')
    if (row.destroyed! > second.committed) complain('destroyed later than known')
    if (player.destroyedAt === undefined || player.destroyedAt > second.committed)
      complain('destroyed and lives')
    return
  }
  const sure = missing.filter(
    ({ reading, arrived }) => reading === 'certain' && arrived > player.createdAt + blind,
  )
  if (sure.length >= 2) complain('missing from two complete readings and not destroyed')
}

/** What the world is now, without a look at any list: everything of it has been seen by the end. */
function comparePresent(
  player: TruePlayer,
  row: StoredPlayer | undefined,
  { end, calmSince }: Examination,
  complain: Complain,
): void {
  const { createdAt, destroyedAt } = player
  const long = end - Math.min(longestUnseen, end - calmSince)
  if (destroyedAt === undefined) {
    if (row?.destroyed) complain('lives, and is said to be gone')
    if (createdAt + blind > long) return
    if (!row) {
      complain('lives, and is not stored')
      return
    }
    const changedAt = player.changes.at(-1)!.at
    if (changedAt < long && row.status !== player.changes.at(-1)!.status) complain('its status is an old one')
  } else if (row && destroyedAt < long && row.destroyed === null) complain('is gone, and is said to live')
}

function within(
  what: string,
  time: number | null,
  { arrived, committed }: { readonly arrived: number; readonly committed: number },
  complain: Complain,
): void {
  if (time === null || time < arrived || time > committed) {
    complain(`wrong ${what}`, `${time} is not within ${arrived} and ${committed}`)
  }
}

function statusAt({ changes, destroyedAt }: TruePlayer, at: number): string | undefined {
  if (destroyedAt !== undefined && destroyedAt < at) return undefined
  return changes.findLast(change => change.at <= at)?.status
}

function mostAtOnce(truth: readonly TruePlayer[]): number {
  const steps = truth.flatMap(({ createdAt, destroyedAt }) => [
    { at: createdAt, by: 1 },
    ...(destroyedAt === undefined ? [] : [{ at: destroyedAt, by: -1 }]),
  ])
  let living = 0
  let most = 0
  for (const { by } of steps.toSorted((one, other) => one.at - other.at)) {
    living += by
    most = Math.max(most, living)
  }
  return most
}

/** Two lists a second and fifteen a minute of an app, in any second and minute and in those of the clock. */
function breachesOfLimits(sandbox: Sandbox): readonly (readonly [kind: string, detail: string])[] {
  const times = new Map<string, number[]>()
  for (const { operation, app = '', time } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    if (operation === 'listPlayers') (times.get(app) ?? times.set(app, []).get(app)!).push(time)
  }
  return [...times].flatMap(([app, arrivals]) =>
    [
      { most: 2, window: 1_000 },
      { most: 15, window: 60_000 },
    ].flatMap(({ most, window }) =>
      arrivals.flatMap((time, n) => {
        const before = arrivals[n - most]
        if (before === undefined) return []
        const isSliding = time - before < window
        const isFixed = Math.floor(time / window) === Math.floor(before / window)
        return isSliding || isFixed ? [['too many lists', `${app} ${time} ${window}`] as const] : []
      }),
    ),
  )
}

function violationsOf(sandbox: Sandbox): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(sandbox.status().violationsByKind).filter(([, count]) => count > 0),
  )
}

function listsOf(sandbox: Sandbox): Readonly<Record<string, number>> {
  const lists: Record<string, number> = {}
  for (const { operation, status, fault } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    if (operation !== 'listPlayers') continue
    const key = fault ? `${status ?? 'lost'} by ${fault}` : String(status)
    lists[key] = (lists[key] ?? 0) + 1
  }
  return lists
}

/** Keeps the first few of each kind, and counts all. */
function createComplaints() {
  const kinds = new Map<string, { count: number; readonly first: string[] }>()
  const add = (kind: string, detail: string) => {
    const known = kinds.get(kind) ?? { count: 0, first: [] }
    kinds.set(kind, known)
    known.count += 1
    if (known.first.length < 3) known.first.push(`${kind}: ${detail}`)
  }
  return {
    add,
    addAll: (pairs: readonly (readonly [kind: string, detail: string])[]) => {
      for (const [kind, detail] of pairs) add(kind, detail)
    },
    first: () => [...kinds.values()].flatMap(({ first }) => first),
    counts: () => Object.fromEntries([...kinds].map(([kind, { count }]) => [kind, count])),
  }
}
