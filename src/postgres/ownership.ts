import type pg from 'pg'
import { type Clock, createTurns } from '../clock/clock.ts'
import type { Claim, Fence, Ownership } from '../engine/ports.ts'
import { fairShares } from '../planning/fair-shares.ts'
import { type ConnectOptions, connectOnce } from './connect.ts'
import { storeError } from './errors.ts'
import { type Ask, createShardJobs, HEARTBEAT_MS, type ShardJobs, type Turn } from './shard-jobs.ts'

interface OwnershipOptions extends ConnectOptions {
  /** Name of this process: unique each time it starts. */
  readonly owner: string
  /** Of how many apps of each shard it knows now. */
  readonly knows: () => readonly number[]
  readonly clock: Clock
  /** ms after which a statement is given up: a connection may be only half there. */
  readonly queryTimeout?: number
  /** ms for which a COPY may wait for its process before it is ended, where it keeps a shard from its next owner. */
  readonly copyPatience?: number
  /** Stands for pg-boss. */
  readonly jobs?: ShardJobs | undefined
}

export interface OwnershipSession extends Ownership {
  /** Takes one shard for the moment, without being a replica; undefined where somebody holds it. */
  readonly borrow: (shard: number) => Promise<Fence | undefined>
  readonly close: () => Promise<void>
}

const QUERY_TIMEOUT_MS = 4_000

const COPY_PATIENCE_MS = 10_000

/** A database that lost more than this, ms, of what was written in it was put back; a standby that takes over lacks less, and says so. */
const LOST_MS = 60_000

interface Attendance {
  /** The history that is written in. */
  readonly mark: string | null
  readonly replicas: readonly { readonly owner: string; readonly knows: readonly number[] }[]
  /** What the database is fenced by of this process. */
  readonly mine: readonly Turn[]
  /** Shards whose owners' sessions are gone. */
  readonly orphans: readonly Turn[]
}

const attend = 'select * from ingest.attend($1, $2, $3), ingest.history_mark() as h(mark)'
const own = 'select shard, owner, epoch::float8 as epoch from ingest.own($1, $2, $3)'
/**
 * Ends commits whose processes send or take no more: a COPY that waits for the rest of its lines ends by no time limit,
 * nor does an answer that nobody takes, and both hold the fence. What is written only waits for Postgres itself. Only the
 * login may end its own sessions, not the role that it takes; those of another login are left alone.
 */
const endStuck = (patience: number) => `do $$ begin
  set local role none;
  perform pg_terminate_backend(a.pid) from pg_stat_activity a
    where a.datname = current_database() and a.usename = session_user and a.state = 'active' and a.wait_event_type = 'Client'
      and a.query_start <= clock_timestamp() - interval '${patience} milliseconds'
      and exists (select from pg_locks l where l.pid = a.pid and l.relation = 'ingest.ownership'::regclass and l.mode = 'RowShareLock');
exception when insufficient_privilege then null;
end $$`
const leave = 'delete from ingest.replica where owner = $1'
/** How long ago, ms, the latest was written that is left of a history; each replica comes by every second. */
const left = `
  select (select extract(epoch from ingest.clock() - h.last_seen_at)::float8 * 1000 from ingest.history h where h.mark = $1) as ago`
const begin = 'select ingest.begin_history($1)'

/**
 * Ownership by pg-boss, by fence and by session. The queue decides who works on a shard; whoever takes one raises its
 * epoch, by which every commit and every debit is fenced. Besides, the connection keeps an advisory lock on the owner's
 * name, which the database drops the moment the process dies, so that nobody need wait until its silence was noticed.
 * Needs a direct connection: a pooler that shares sessions would drop the lock.
 */
export function createOwnership(options: OwnershipOptions): OwnershipSession {
  const { owner, knows, copyPatience = COPY_PATIENCE_MS } = options
  const session = createSession(options)
  const history = createHistory({ ask: session.ask, clock: options.clock })
  const jobs = options.jobs ?? createShardJobs(session.ask, knows().length)
  const held = new Map<number, Turn>()
  /** What others should have, until it is given back. */
  const surplus = new Set<number>()
  /** All was given back, for good. */
  let isOver = false
  /** One thing at a time: what is taken and what is given back must not overtake each other. */
  const inOrder = createTurns(1)

  function hold(turns: readonly Turn[]): void {
    for (const turn of turns) held.set(turn.shard, turn)
  }

  function forget(shards: Iterable<number>): void {
    for (const shard of shards) {
      held.delete(shard)
      surplus.delete(shard)
    }
  }

  async function look(known: readonly number[] | null): Promise<Attendance> {
    if (await session.open()) {
      await history.read()
      await jobs.prepare()
    }
    const silence = `${HEARTBEAT_MS} milliseconds`
    const [seen] = (await session.ask(attend, [owner, known, silence])).rows as Attendance[]
    history.written(seen!.mark)
    const mine = [...held.values()]
    const kept = new Set((await jobs.renew(mine)).map(({ shard }) => shard))
    forget(mine.flatMap(({ shard }) => (kept.has(shard) ? [] : [shard])))
    // After an outage everybody was silent, and has to come back before anybody may be taken for dead.
    if (!session.isRecovering()) {
      await jobs.free(seen!.orphans)
      await jobs.expire()
    }
    return seen!
  }

  async function balance(replicas: Attendance['replicas']): Promise<void> {
    const me = replicas.findIndex(replica => replica.owner === owner)
    for (const { shards, share } of fairShares(
      replicas.map(replica => replica.knows),
      me,
    )) {
      const kept = shards.filter(shard => held.has(shard) && !surplus.has(shard))
      for (const shard of kept.slice(share)) surplus.add(shard)
      if (kept.length < share) hold(await jobs.take(shards, share - kept.length))
    }
  }

  /** Has the fence say what the queue says. Answers what it says so of. */
  async function raise(fenced: readonly Turn[]): Promise<readonly Turn[]> {
    const known = new Map(fenced.map(turn => [turn.shard, turn.epoch]))
    const missing = [...held.values()].filter(({ shard, epoch }) => known.get(shard) !== epoch)
    if (missing.length > 0) {
      const values = [owner, missing.map(({ shard }) => shard), missing.map(({ epoch }) => epoch)]
      const rows = (await session.ask(own, values)).rows as (Turn & { readonly owner: string })[]
      const passed = rows.filter(row => row.epoch >= held.get(row.shard)!.epoch)
      const raised = passed.filter(row => row.owner === owner && row.epoch === held.get(row.shard)!.epoch)
      for (const { shard, epoch } of raised) known.set(shard, epoch)
      // A turn that comes after a later one is of no use; the next one is higher.
      const late = passed.filter(row => !raised.includes(row)).map(({ shard }) => held.get(shard)!)
      await jobs.free(late)
      forget(late.map(({ shard }) => shard))
      if (passed.length < missing.length) await session.ask(endStuck(copyPatience))
    }
    return [...held.values()].filter(({ shard, epoch }) => known.get(shard) === epoch)
  }

  async function giveBack(shards: readonly number[]): Promise<void> {
    const turns = shards.flatMap(shard => held.get(shard) ?? [])
    if (turns.length > 0) await jobs.free(turns)
    forget(shards)
  }

  const fenceOf = ({ shard, epoch }: Turn): Fence => ({ shard, owner, epoch })

  return {
    claim: () =>
      inOrder(async (): Promise<Claim> => {
        // One that was begun before the end and comes after it would hold shards, and a session, that nobody gives back.
        if (isOver) return { fences: [], surplus: [] }
        const { replicas, mine } = await look(knows())
        await balance(replicas)
        const fenced = await raise(mine)
        return {
          fences: fenced.filter(({ shard }) => !surplus.has(shard)).map(fenceOf),
          surplus: [...surplus],
          setBack: history.setBack(),
        }
      }),
    release: shards =>
      inOrder(async () => {
        isOver ||= shards === undefined
        if (shards === undefined) await session.ask(leave, [owner])
        await giveBack(shards ?? [...held.keys()])
      }),
    borrow: shard =>
      inOrder(async () => {
        const { mine } = await look(null)
        if (!held.has(shard)) hold(await jobs.take([shard], 1))
        const turn = (await raise(mine)).find(each => each.shard === shard)
        if (turn) return fenceOf(turn)
        await giveBack([shard])
        return undefined
      }),
    close: () =>
      inOrder(() => {
        isOver = true
        return session.close()
      }),
  }
}

/** Tells by what this process has written whether the database may be an older one than before. */
function createHistory({ ask, clock }: Pick<OwnershipOptions, 'clock'> & { readonly ask: Ask }) {
  /** The history that was written in last, and when on the monotonic clock, ms. */
  let last: { readonly mark: string; readonly at: number } | undefined
  let setBack = 0
  return {
    /** To be called before anything is written in a new session. */
    read: async (): Promise<void> => {
      if (!last) return
      const passed = clock.monotonic() - last.at
      const [row] = (await ask(left, [last.mark])).rows as [{ readonly ago: number | null }]
      if (row.ago !== null && row.ago - passed <= LOST_MS) return
      await ask(begin, [`${passed} milliseconds`])
      setBack += 1
      last = undefined
    },
    /** This process has come by. */
    written: (mark: string | null) => {
      // A standby that took over may lack what was written last.
      if (last && mark !== null && mark !== last.mark) setBack += 1
      last = mark === null ? undefined : { mark, at: clock.monotonic() }
    },
    /** How often it was one. A claim may be given up before its answer is heard. */
    setBack: (): number => setBack,
  }
}

/** Whether some process, this or another, owns apps at this moment. */
export async function isAnyShardOwned(pool: pg.Pool): Promise<boolean> {
  const text = `
    select exists (select from ingest.ownership join ingest.replica using (owner)
                   where seen_at > ingest.clock() - $1::interval) as owned`
  const { rows } = await pool.query<{ owned: boolean }>(text, [`${HEARTBEAT_MS} milliseconds`])
  return rows[0]!.owned
}

/** A connection with the lock on the owner's name, made anew when it broke. */
function createSession(options: OwnershipOptions) {
  const { owner, clock } = options
  let session: Promise<pg.Client> | undefined
  let recoveringUntil = Number.NEGATIVE_INFINITY

  function forget(broken: Promise<pg.Client>): void {
    if (session !== broken) return
    session = undefined
    recoveringUntil = clock.monotonic() + HEARTBEAT_MS
  }

  /** The lock is shared, so that a new session need not wait until the database has noticed that the old one died. */
  async function connect(): Promise<pg.Client> {
    const client = connectOnce({ queryTimeout: QUERY_TIMEOUT_MS, ...options })
    try {
      await client.connect()
      await client.query('select pg_advisory_lock_shared(hashtextextended($1, 0))', [owner])
      return client
    } catch (error) {
      abandon(client)
      throw error
    }
  }

  function current(): Promise<pg.Client> {
    if (session) return session
    const opened = connect()
    session = opened
    opened.then(
      client => client.on('end', () => forget(opened)),
      () => forget(opened),
    )
    return opened
  }

  return {
    /** Whether there is a session that was not there before. */
    open: async (): Promise<boolean> => {
      const isNew = session === undefined
      await current().catch((error: unknown) => {
        throw storeError(error)
      })
      return isNew
    },
    ask: async (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
      const asked = current()
      try {
        return await (await asked).query(text, values)
      } catch (error) {
        forget(asked)
        asked.then(abandon, () => {})
        throw storeError(error, { text })
      }
    },
    /** Whether one broke so lately that others may not be back yet. */
    isRecovering: (): boolean => clock.monotonic() < recoveringUntil,
    close: async (): Promise<void> => {
      const open = session
      session = undefined
      await open?.then(client => client.end()).catch(() => {})
    },
  }
}

/** Ends a connection that may never answer; nobody waits for it. */
function abandon(client: pg.Client): void {
  client.end().catch(() => {})
}
