import { Findings } from './asked.ts'
import type { Examination, Finding } from './examination.ts'

/** What somebody made or destroyed by hand, and what was said in the end. */
export interface Hand {
  readonly act: 'create' | 'destroy'
  readonly app: string
  /** Of a player that is made: no other has it. */
  readonly streamUrl?: string
  readonly destroys?: string
  /** Where that one is to be destroyed. */
  readonly region?: string
  /** The player that was made, as it was told. */
  readonly id?: string
  /** The kind of the error, or `done`. */
  readonly end: string
  /** When it was said, ms since the epoch. */
  readonly at: number
}

/** A request for a player that has a name; sent at a moment, ms since the epoch. */
export interface Create {
  readonly app: string
  readonly name: string
  readonly at: number
}

/** How exact the moments are at which something is written down, ms. */
const exactness = 100

/**
 * Whoever makes a player by hand makes one, whatever becomes of the answers, and is told of that one; who is told that one
 * is destroyed never meets it again. What is known of a player that was made here is where it was made.
 */
export async function examineHands(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, hands = [], rows, isEnd } = examination
  if (!isEnd) return []
  const found = new Findings()
  for (const { act, app, streamUrl, destroys, region, id, end, at } of hands) {
    const players = sandbox.players(app)
    if (act === 'destroy') {
      const player = players.find(one => one.id === destroys)
      const lives = (player?.destroyedAt ?? Number.POSITIVE_INFINITY) > at
      if (end === 'done' && lives)
        found.add('different', 'players by hand', `${destroys} of ${app} is said to be destroyed, and lives`)
      if (end === 'not_found' && lives && player?.region === region)
        found.add('different', 'players by hand', `${destroys} of ${app} is said to be nowhere, and lives`)
      continue
    }
    const made = players.filter(one => one.streamUrl === streamUrl)
    if (isTwice(made))
      found.add('duplicate', 'players by hand', `${streamUrl} of ${app} was made ${made.length} times`)
    if (end === 'done' && !made.some(one => one.id === id))
      found.add('different', 'players by hand', `${id} of ${app} is another than was wanted: ${streamUrl}`)
    if (end === 'rate_limited' && !isRefused(examination, app))
      found.add(
        'different',
        'players by hand',
        `${app} is said to ask too often, and has all that it may have`,
      )
    if (end === 'conflict' && made.length > 0)
      found.add('lost', 'players by hand', `${made[0]!.id} of ${app} was made, and is said to be refused`)
  }
  const regions = new Map(
    (hands.length === 0
      ? []
      : await rows<{ key: string; region: string | null }>(
          `select p.app_id || ' ' || p.player_id as key, p.region from players.cloud_player p
           join ingest.intent i on i.app_id = p.app_id and i.player_id = p.player_id and i.state = 'done'`,
        )
    ).map(({ key, region }) => [key, region]),
  )
  for (const text of await sentUnwritten(examination)) found.add('different', 'players by hand', text)
  for (const { app, id } of hands) {
    const region = regions.get(`${app} ${id}`)
    const player = region !== undefined && sandbox.players(app).find(one => one.id === id)
    if (player && region !== player.region)
      found.add('different', 'players by hand', `${id} of ${app} is in ${player.region}, not in ${region}`)
  }
  return found.list()
}

/**
 * Whoever dies over a request leaves its name behind: it is written down before that is sent. It is judged by names
 * that the program gave itself: others are wanted again and again.
 */
async function sentUnwritten({ rows, creates = [] }: Examination): Promise<readonly string[]> {
  if (creates.length === 0) return []
  const written = await rows<{ app: string; name: string; at: number }>(
    `select app_id as app, name, extract(epoch from created_at)::float8 * 1000 as at from ingest.intent where attempts = 1 and name like 'penstock-%'`,
  )
  return written.flatMap(({ app, name, at }) => {
    const [own, ...others] = creates.filter(one => one.app === app && one.name === name)
    const isLate = own !== undefined && others.length === 0 && own.at < at - exactness
    return isLate ? [`${name} of ${app} was asked for ${at - own.at} ms before that was written down`] : []
  })
}

/** Whether somebody was refused without a reason, as whoever asks too often. */
function isRefused({ sandbox: { arrivals } }: Examination, app: string): boolean {
  return arrivals
    .list(0, arrivals.count)
    .some(one => one.app === app && one.operation === 'createPlayer' && one.status === 429 && one.fault)
}

interface Life {
  readonly createdAt: number
  readonly destroyedAt: number | undefined
}

/** Whose media cannot be reached the provider destroys, maybe before a list shows it: to make it again is right. */
function isTwice(made: readonly Life[]): boolean {
  const inTurn = [...made].sort((one, other) => one.createdAt - other.createdAt)
  return inTurn.some(
    (one, n) => n > 0 && (inTurn[n - 1]!.destroyedAt ?? Number.POSITIVE_INFINITY) > one.createdAt,
  )
}
