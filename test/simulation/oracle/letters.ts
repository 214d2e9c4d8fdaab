import { canonical, storable } from './canonical.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { Examination, Finding } from './examination.ts'

interface Letter {
  readonly app: string
  readonly stream: string
  readonly series: string
  readonly text: string
}

/** Secrets as the sandbox makes them up. */
const secret = /(?:board|task|player)-secret-/

/** What no client can read is kept as it came, its tokens hidden, of each room that is or was read. */
export async function examineLetters(
  { rows, sandbox, isCalm = false }: Pick<Examination, 'rows' | 'sandbox' | 'isCalm'>,
  rooms: readonly TrueRoom[],
  isRead: (room: TrueRoom, stream: 'room-events' | 'popup-quiz' | 'poll', at: number) => boolean,
): Promise<readonly Finding[]> {
  const letters = await rows<Letter>(
    `select app_id as app, stream, series, convert_from(body, 'latin1') as text from ingest.dead_letter`,
  )
  const streams = new Set(letters.map(({ app, stream }) => `${app} ${stream}`))
  const unread = isCalm ? strangeAnswers(sandbox).difference(streams) : []
  const kept = new Set(letters.flatMap(({ app, series, text }) => namesOf(app, series, text)))
  const uncounted = await readUnkept(rows)
  const missing = rooms.flatMap(room => {
    const { app, roomUuid } = room
    const records = room.events
      .filter(({ malformed, at }) => malformed && isRead(room, 'room-events', at))
      .map(({ sequence }) => ['room-events', `${app} ${roomUuid} ${sequence}`] as const)
    const items = room.items.flatMap(({ malformed, widget, at, item }) => {
      const stream = widget === 'poll' ? 'poll' : 'popup-quiz'
      if (!malformed || !isRead(room, stream, at)) return []
      return [[stream, `${app} ${roomUuid} ${canonical(storable(item))}`] as const]
    })
    const unkept = [...records, ...items].filter(([, name]) => !kept.has(name))
    return [...Map.groupBy(unkept, ([stream]) => stream)].flatMap(([stream, names]) => {
      const isCounted = names.length <= uncounted(app, stream, roomUuid)
      return isCounted ? [] : names.map(([, name]) => name)
    })
  })
  return [
    ...[...unread].map(name => ({ kind: 'lost', text: `a dead letter of ${name}` }) as const),
    ...missing.map(name => ({ kind: 'lost', text: `a dead letter for ${name}` }) as const),
    ...letters
      .filter(({ text }) => secret.test(text))
      .map(({ app }) => ({ kind: 'different', text: `a secret in a dead letter of ${app}` }) as const),
  ]
}

/** Of a stream so many letters are kept a day for one reason; the others are counted, room by room. */
const most = 1_000

async function readUnkept(
  rows: Examination['rows'],
): Promise<(app: string, stream: string, series: string) => number> {
  const unkept = await rows<{ key: string; letters: number }>(
    `select concat_ws(' ', u.app_id, u.stream, u.series) as key, sum(u.letters)::float8 as letters from ingest.unkept_letter u
     where ${most} <= (select count(*) from ingest.dead_letter d where (d.app_id, d.stream, d.reason) = (u.app_id, u.stream, u.reason))
     group by 1`,
  )
  const counts = new Map(unkept.map(({ key, letters }) => [key, letters]))
  return (...names) => counts.get(names.join(' ')) ?? 0
}

const streamOf: Readonly<Record<string, string>> = {
  ...{ appEvents: 'app-events', roomEvents: 'room-events', popupQuiz: 'popup-quiz', poll: 'poll' },
  ...{ recordings: 'recordings', resources: 'resources', listPlayers: 'cloud-players' },
}

/** Streams that were answered with what nobody can read: of such bytes some are kept. */
function strangeAnswers({ arrivals }: Examination['sandbox']): ReadonlySet<string> {
  const strange = arrivals.list(0, arrivals.count).filter(({ fault, status }) => {
    return status === 200 && (fault === 'wrong-types' || fault === 'strange')
  })
  return new Set(strange.map(({ app, operation = '' }) => `${app} ${streamOf[operation]}`))
}

/** A record is known by its room and sequence, an item by its room and all that it says; a page that nobody can read is neither. */
function namesOf(app: string, series: string, text: string): readonly string[] {
  try {
    const item = parseExactly(Buffer.from(text, 'latin1').toString()) as Readonly<Record<string, unknown>>
    return [`${app} ${item.roomUuid} ${item.sequence}`, `${app} ${series} ${canonical(storable(item))}`]
  } catch {
    return []
  }
}

/** Numbers that lose digits stay as they are written. */
function parseExactly(text: string): unknown {
  const exactly = (_: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value) ? source : value
  return JSON.parse(text, exactly as Parameters<typeof JSON.parse>[1])
}
