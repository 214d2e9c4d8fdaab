import type { Sandbox, TruePlayer } from '../../../sandbox/src/index.ts'
import type { Examination, Finding } from './examination.ts'
import { examineHeed, examineNotices, examineStrange, withoutSecrets } from './notices.ts'
import { type OurClocks, ourClocks, type Span } from './our-clocks.ts'
import { compareTable, type ExpectedRow, type Row, Rule, readSchema, type StoredSchema } from './rows.ts'
import { examineWatched } from './watched.ts'

/** How long what happens takes to be seen while nothing goes wrong, ms: two whole lists, and a queue before them. */
/** A list is asked, answered and stored within so long after its time, ms. */
const listing = 30_000
/** Whoever makes players by hand may have spent the lists of a minute, ms. */
const minute = 60_000
/** Half of the entries of a thin list are thin: what so many lists named is told by one of them. */
const manyLists = 16
/** An answer may be on its way, and its commit after it, for as long as this, ms; longer where a process stood still. */
const onItsWay = 60_000
/** From when a request is sent to when it arrives, ms: its grant lives for two seconds, and the network delays by ten. */
const toArrive = 12_000
const longestStall = 5 * 60_000

interface Context {
  readonly examination: Examination
  readonly stored: StoredSchema
  readonly clocks: OurClocks
  /** How old an answer may be when it is stored, ms. */
  readonly late: number
  /** Since when what happens is seen soon. */
  readonly calm: number
  /** What happens takes so long to be seen, ms. */
  readonly unseen: number
  /** What was so by then and goes on must be stored. */
  readonly seen: number
}

/** Holds the schema players against the players that there were, and what their notifications told. */
export async function examinePlayers(examination: Examination): Promise<readonly Finding[]> {
  const { healed, end, isEnd, isInterrupted, apps, sandbox, streams, listEvery = minute } = examination
  if (!(streams?.includes('cloud-players') ?? true)) return []
  const unseen = listEvery + listing + (examination.hands ? minute : 0)
  const context: Context = {
    examination,
    stored: await readSchema(examination, 'players'),
    clocks: ourClocks(examination),
    late: isInterrupted ? longestStall : onItsWay,
    calm: isEnd ? healed : Number.POSITIVE_INFINITY,
    unseen,
    seen: isEnd ? end - unseen : Number.NEGATIVE_INFINITY,
  }
  const { stored } = context
  const players = new Map<string, ExpectedRow>()
  const histories = new Map<string, ExpectedRow>()
  const findings: Finding[] = []
  const changes = Map.groupBy(
    stored.get('cloud_player_change')!.rows,
    ({ app_id, player_id }) => `${app_id} ${player_id}`,
  )
  const rows = new Map(stored.get('cloud_player')!.rows.map(row => [`${row.app_id} ${row.player_id}`, row]))
  for (const { id: app } of apps) {
    const absences = absencesIn(sandbox, app)
    for (const player of sandbox.players(app)) {
      const key = `${app} ${player.id}`
      const history = (changes.get(key) ?? []).toSorted((a, b) => Number(a.changed_at) - Number(b.changed_at))
      players.set(key, playerRow(app, player, history, context))
      for (const [n, { changed_at }] of history.entries()) {
        const from = history[n - 1]?.to_status
        // What comes back in a thin entry has no status until another tells it.
        const from_status = from === 'destroyed' ? nullOr(from) : from
        const cells = { from_status, to_status: anyText, source: 'list' }
        histories.set(`${key} ${changed_at}`, { cells, isDue: false })
      }
      const faults = historyFaults(player, history, rows.get(key), { ...context, absences })
      for (const text of faults) findings.push({ kind: 'different', text: `history of ${key}: ${text}` })
    }
  }
  return [
    ...compareTable(stored.get('cloud_player')!, players),
    ...compareTable(stored.get('cloud_player_change')!, histories),
    ...findings,
    ...(await examineWatched(examination, stored.get('cloud_player')!)),
    ...examineNotices(examination, stored.get('notification')!),
    ...examineHeed(examination),
    ...(await examineStrange(examination)),
  ]
}

const anyText = new Rule('a text', value => typeof value === 'string')

/** Entries of a list may hold the ID, the name and the time alone; what none ever said is null. */
function playerRow(
  app: string,
  player: TruePlayer,
  history: readonly Row[],
  { examination, clocks, late, calm, unseen, seen }: Context,
): ExpectedRow {
  const { sandbox, end } = examination
  const { createdAt, destroyedAt, region } = player
  const { playerList, listBlindSeconds, listBlind } = sandbox.settings.switches
  const told = { from: createdAt + listBlindSeconds * 1_000, to: (destroyedAt ?? end) - late }
  const isThin = playerList === 'thin'
  const isUntold = isThin && wholeLists(sandbox, app, told) < manyLists
  const said = (value: unknown) => (isUntold ? nullOr(value ?? null) : (value ?? null))
  const listed = createdAt + listBlindSeconds * 1_000
  const earliest = listBlind === 'at-times' ? createdAt : listed
  const lists = listTimes(sandbox, app)
  /** Which of these moments a list may have been stored at that was asked while it was so, soon before. */
  const heard = (moments: readonly Span[], from: number, to: number) =>
    moments.filter(moment => moment.from <= end + late && hasList(lists, { from, to, moment, late }))
  const untilGone = destroyedAt ?? end
  const isCalm = listed >= calm
  const absences = absencesIn(sandbox, app)
  const isOver = destroyedAt !== undefined
  const [first] = history
  const last = history.at(-2)
  return {
    isDue: Math.max(listed, calm) + unseen <= (isOver ? untilGone : end),
    cells: {
      region: nullOr(region),
      name: player.name,
      uid: said(player.uid === undefined ? null : String(player.uid)),
      account: said(player.account),
      channel_name: said(player.channelName),
      stream_url: said(withoutSecrets(player.streamUrl)),
      status: new Rule('that of its last change', (value, { destroyed_at }) => {
        const told = history.at(-1)?.to_status ?? null
        return value === told || (value === null && told === 'destroyed' && isThin && destroyed_at === null)
      }),
      created_at: Math.floor(createdAt / 1_000) * 1_000,
      first_seen_at: new Rule(`from ${earliest}, soon`, value => {
        const moments = heard(clocks.momentsOf(value), earliest, untilGone)
        const isSoon = moments.some(({ from }) => !isCalm || from <= listed + unseen)
        return isSoon && (isThin || first === undefined || first.changed_at === value)
      }),
      last_seen_at: new Rule(`up to ${untilGone}, lately`, (value, row) => {
        const before = clocks.momentsOf(row.first_seen_at)
        return heard(clocks.momentsOf(value), earliest, untilGone).some(({ to }) => {
          const isLate = isOver || to >= Math.min(seen, untilGone)
          return isLate && before.some(({ from }) => from <= to)
        })
      }),
      destroyed_at: new Rule(isOver ? `after ${destroyedAt}` : 'null', value => {
        if (value === null) return !isOver || destroyedAt > seen
        const isMissed = absences.some(({ from, to }) => {
          const isGone = isOver && from <= destroyedAt ? destroyedAt <= to : end <= to + unseen
          return isGone && from <= Number(value) && Number(value) <= to + late
        })
        if (isMissed) return true
        if (!isOver) return false
        const moments = heard(clocks.momentsAfter(value, last?.changed_at), destroyedAt, end)
        return moments.some(({ from }) => destroyedAt < calm || from <= destroyedAt + unseen)
      }),
      extra: null,
    },
  }
}

function nullOr(wanted: unknown): Rule {
  return new Rule(`null or ${wanted}`, value => value === null || value === wanted)
}

const cache = new WeakMap<Sandbox, { readonly count: number; readonly times: Map<string, number[]> }>()

/** Moments at which the list of an app was answered, in order. */
function listTimes(sandbox: Sandbox, app: string): readonly number[] {
  const { count } = sandbox.arrivals
  const known = cache.get(sandbox)
  if (known?.count === count) return known.times.get(app) ?? []
  const times = new Map<string, number[]>()
  for (const { operation, app: of = '', time } of sandbox.arrivals.list(0, count)) {
    if (operation === 'listPlayers') (times.get(of) ?? times.set(of, []).get(of)!).push(time)
  }
  cache.set(sandbox, { count, times })
  return times.get(app) ?? []
}

/** From each list that left a player out to the next one that left out none: whoever was not named is missing meanwhile. */
function absencesIn(sandbox: Sandbox, app: string): readonly Span[] {
  const absences: { from: number; to: number }[] = []
  let isOpen = false
  for (const { operation, app: of, time, status, fault } of sandbox.arrivals.list(
    0,
    sandbox.arrivals.count,
  )) {
    if (operation !== 'listPlayers' || of !== app || status !== 200) continue
    if (fault === 'unlisted' && !isOpen) absences.push({ from: time, to: Number.POSITIVE_INFINITY })
    else if (fault === undefined && isOpen) absences.at(-1)!.to = time
    isOpen = fault === 'unlisted' || (isOpen && fault !== undefined)
  }
  return absences
}

/** How many lists were answered meanwhile. */
function wholeLists(sandbox: Sandbox, app: string, { from, to }: { from: number; to: number }): number {
  return sandbox.arrivals
    .list(0, sandbox.arrivals.count)
    .filter(
      ({ operation, app: of, time, status, fault, target }) =>
        operation === 'listPlayers' &&
        of === app &&
        from <= time &&
        time <= to &&
        status === 200 &&
        fault === undefined &&
        !target.includes('pageToken='),
    ).length
}

/** Whether a list was asked within these moments that could be stored at that time. */
function hasList(
  lists: readonly number[],
  within: { readonly from: number; readonly to: number; readonly moment: Span; readonly late: number },
): boolean {
  const { from, to, moment, late } = within
  return lists.some(
    time => time >= from && time <= to && time - toArrive <= moment.to && moment.from <= time + late,
  )
}

/** The changes are some of those that there were, in their order, each set down while it was so or soon after. */
function historyFaults(
  player: TruePlayer,
  history: readonly Row[],
  row: Row | undefined,
  {
    examination,
    clocks,
    late,
    calm,
    unseen,
    seen,
    absences,
  }: Context & { readonly absences: readonly Span[] },
): readonly string[] {
  const { createdAt, destroyedAt, changes } = player
  const faults: string[] = []
  if (history.length > 0 && !row) faults.push('of no player')
  let place = 0
  const isThin = examination.sandbox.settings.switches.playerList === 'thin'
  for (const [n, { to_status, changed_at }] of history.entries()) {
    const time = Number(changed_at)
    const moments = clocks.momentsAfter(changed_at, history[n - 1]?.changed_at)
    if (to_status === 'destroyed') {
      const isLast = n === history.length - 1
      // What a list left out and the next one told in a thin entry is back, and has no status by which to say so.
      const wasAbsent = absences.some(({ from, to }) => from <= time && time <= to + late)
      const isBack = wasAbsent && isThin && row?.destroyed_at === null
      if (!isLast && !wasAbsent) faults.push('goes on after its end')
      if (isLast && !isBack && time !== row?.destroyed_at)
        faults.push(`destroyed at ${time} and at ${row?.destroyed_at}`)
      continue
    }
    const found = changes.findIndex(({ status, at }, k) => {
      const until = changes[k + 1]?.at ?? destroyedAt ?? examination.end
      const isThen = ({ from, to }: Span) => at <= to && from - late <= until
      return k >= place && status === to_status && moments.some(isThen)
    })
    if (found < 0) faults.push(`${to_status} at ${time} was not so`)
    else place = found
  }
  if (row && row.destroyed_at !== null && history.at(-1)?.to_status !== 'destroyed')
    faults.push('its end is not there')
  if (isThin) return faults
  const { listBlindSeconds } = examination.sandbox.settings.switches
  const since = Math.max(calm, createdAt + listBlindSeconds * 1_000)
  for (const [n, { status, at }] of changes.entries()) {
    const until = changes[n + 1]?.at ?? destroyedAt ?? examination.end
    const isShown = until - Math.max(at, since) > unseen && Math.max(at, since) < seen
    if (isShown && !history.some(({ to_status }) => to_status === status))
      faults.push(`${status} since ${at} was never seen`)
  }
  const last = changes.at(-1)!
  if (destroyedAt === undefined && last.at < seen && since < seen && row && row.status !== last.status)
    faults.push(`${row.status} is not its status, ${last.status}`)
  return faults
}
