import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { createSandbox, demoApp, listen } from '../sandbox/src/index.ts'
import { systemClock } from '../src/clock/system.ts'
import { onDatabase } from './database.ts'
import { startChild } from './process.ts'

interface LagOptions {
  readonly rooms: number
  /** For how long events are looked for. */
  readonly seconds: number
  readonly say: (line: string) => void
}

const lookEveryMs = 200
/** A page in hand is tried for a minute. */
const lateMs = 60_000
/** What happened before the daemon came, and a first look at each room, are not counted. */
const settledAfterMs = 30_000
/** Of the feed of an app in which something happens. */
const feedEvery = 2

/**
 * How long after it happened an event is in its table, in so many classes that go on at one time: what is stored is looked for every
 * 200 ms, and the clock of the provider is that of the machine.
 */
export function lag({ rooms, seconds, say }: LagOptions) {
  return onDatabase(async ({ folder, server }) => {
    const school = { classes: rooms, students: 8, lessonMinutes: 45, breakMinutes: 5, eventsPerMinute: 20 }
    const sandbox = createSandbox({
      ...{ clock: systemClock, seed: 1, apps: [demoApp] },
      profile: { kind: 'school', ...school, historyMinutes: 3 },
    })
    const provider = await listen(sandbox)
    const config = join(folder, 'lag.yaml')
    await writeFile(config, configText(server.url, provider.url), { mode: 0o600 })
    const pool = new pg.Pool({ connectionString: server.url, max: 1 })
    const daemon = await startChild(['bin/penstock.mjs', 'run', '--config', config])
    try {
      say('waiting until every class is known and read')
      await systemClock.sleep(settledAfterMs)
      // A look must not cost what it looks at.
      await pool.query('create index on classroom.room_event (received_at)')
      await untilRead(pool)
      await systemClock.sleep(settledAfterMs)
      const found = await lagsUntil(pool, systemClock.monotonic() + seconds * 1_000)
      const at = (share: number) =>
        found.lags.toSorted((a, b) => a - b)[Math.ceil(found.lags.length * share) - 1]!
      return {
        ...{ rooms: found.rooms, events: found.lags.length, poll_interval_seconds: feedEvery },
        ...{ p50_seconds: at(0.5), p99_seconds: at(0.99), most_seconds: at(1) },
      }
    } finally {
      await daemon.stop()
      await pool.end()
      await provider.close()
    }
  })
}

async function untilRead(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `select from ingest.progress where series <> '' and caught_up_at is null limit 1`,
    )
    if (rows.length === 0) return
    await systemClock.sleep(1_000)
  }
}

/** Seconds from each event that happens from now until `end` until a look finds it; what is late is waited for. */
async function lagsUntil(pool: pg.Pool, end: number) {
  const since = systemClock.now()
  const until = since + end - systemClock.monotonic()
  const seen = new Set<string>()
  const rooms = new Set<string>()
  const lags: number[] = []
  while (systemClock.monotonic() < end + lateMs) {
    const { rows } = await pool.query<{ room: string; sequence: string; at: number }>(
      `select room_uuid as room, sequence::text, extract(epoch from event_time)::float8 * 1000 as at
       from classroom.room_event where received_at >= $1 and event_time between $2 and $3`,
      // What is committed later may have come before what is seen now.
      [systemClock.now() - lateMs, since, until].map(at => new Date(at)),
    )
    const now = systemClock.now()
    for (const { room, sequence, at } of rows) {
      if (seen.has(`${room} ${sequence}`)) continue
      seen.add(`${room} ${sequence}`)
      rooms.add(room)
      lags.push(Number(((now - at) / 1_000).toFixed(2)))
    }
    await systemClock.sleep(lookEveryMs)
  }
  if (lags.length === 0) throw new Error('no event was stored')
  return { lags, rooms: rooms.size }
}

/** The intervals are those of the defaults. */
function configText(databaseUrl: string, providerUrl: string): string {
  return `database: { url: "${databaseUrl}" }
http: { listen: "127.0.0.1:0" }
log: { level: warn }
provider: { classroom: { url: "${providerUrl}" } }
limits: { classroom: { perSecond: 10000, concurrency: 16 } }
apps: [{ id: ${demoApp.id}, region: ap, plan: premium, classroom: { uid: ${demoApp.uid}, token: ${demoApp.token} } }]
`
}
