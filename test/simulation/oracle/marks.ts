import type { Examination, Finding } from './examination.ts'

/** A room that somebody wants to be read again from its beginning. */
export interface Mark {
  readonly app: string
  readonly room: string
  /** ms since the epoch */
  readonly at: number
}

/** How soon that is done where nothing breaks, ms. */
const soon = 3 * 60_000
/** What goes on where it ended, unless it is told otherwise. */
const logs = ['roomEvents', 'popupQuiz', 'poll'] as const
/** What is read from its beginning each time, and seldom where nothing is new. */
const lists = ['recordings', 'resources'] as const

/** Whoever marks a room sees each of its logs asked for from the beginning, whatever was under way when it was marked, and its lists soon. */
export function examineMarks({ sandbox, marks = [], isEnd, end }: Examination): readonly Finding[] {
  if (!isEnd || marks.length === 0) return []
  const begun = new Map<string, number[]>()
  for (const { app, operation, target, time } of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    const room = /\/rooms\/([^/?]+)\//.exec(target)?.[1]
    if (!room || new URL(target, 'http://provider').searchParams.has('nextId')) continue
    const log = `${app} ${decodeURIComponent(room)} ${operation}`
    ;(begun.get(log) ?? begun.set(log, []).get(log)!).push(time)
  }
  const gone = goneRooms(sandbox)
  return marks.flatMap(({ app, room, at }) => {
    if (Math.min(end, gone.get(`${app} ${room}`) ?? 0) < at + soon) return []
    const next = (log: string) =>
      begun.get(`${app} ${room} ${log}`)?.find(time => time >= at) ?? Number.POSITIVE_INFINITY
    return [...logs.filter(log => next(log) > end), ...lists.filter(list => next(list) > at + soon)].map(
      (log): Finding => {
        const when = new Date(at).toISOString()
        return { kind: 'owed', text: `${log} of ${app} ${room} was marked at ${when} and not read again` }
      },
    )
  })
}

/** When the provider forgot rooms; what has the name of none, as channels of calls do, and what it does not serve it never knew. */
function goneRooms(sandbox: Examination['sandbox']): ReadonlyMap<string, number> {
  const gone = new Map<string, number>()
  for (const line of sandbox.truth()) {
    if (line.kind !== 'room') continue
    gone.set(`${line.app} ${line.roomUuid}`, line.muted ? 0 : (line.destroyedAt ?? Number.POSITIVE_INFINITY))
  }
  return gone
}
