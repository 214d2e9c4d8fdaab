import { type Incarnations, matchIncarnations } from './incarnations.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import { readStored, type Stored, type StoredGap } from './stored.ts'
import { readTruth, type TrueEvent, type Truth } from './truth.ts'

/** What is wrong with the database, one line a finding. */
interface Findings {
  /** Neither stored nor in the gap ledger; or still served and not stored. */
  readonly lost: readonly string[]
  /** Stored beside what there is, or more than once. */
  readonly duplicate: readonly string[]
  /** Stored otherwise than it was served. */
  readonly different: readonly string[]
}

/** Compares all that the provider ever had with all that is stored. Shares no code with the daemon. */
export async function examine(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, streams = [], isInterrupted } = examination
  const truth = readTruth(sandbox)
  const stored = await readStored(examination)
  const incarnations = matchIncarnations(truth, stored)
  const events = examineEvents(truth, stored, incarnations, excuses(stored, streams))
  const read = {
    ...truth,
    widgetItems: truth.widgetItems.filter(({ widget }) => streams.includes(streamOf[widget])),
  }
  const widgets = examineWidgets(read, stored, incarnations)
  const resources = truth.resources.filter(key => streams.includes('resources') && !stored.resources.has(key))
  const recordings = streams.includes('recordings') ? examineRecordings(truth, stored, isInterrupted) : []
  const found = {
    lost: [...events.lost, ...widgets.lost, ...recordings, ...resources.map(key => `resource ${key}`)],
    duplicate: [...events.duplicate, ...widgets.duplicate],
    different: [...events.different, ...widgets.different],
  }
  const kinds = ['lost', 'duplicate', 'different'] as const
  return kinds.flatMap(kind => found[kind].map(text => ({ kind, text })))
}

function examineEvents(
  truth: Truth,
  stored: Stored,
  incarnations: Incarnations,
  isExcused: (event: TrueEvent, incarnation: number | undefined) => boolean,
): Findings {
  const lost: string[] = []
  const different: string[] = []
  const known = new Set<string>()
  for (const event of truth.events) {
    const incarnation = incarnations.storedOf(event)
    const key = `${event.app} ${event.room} ${incarnation} ${event.sequence}`
    known.add(key)
    const row = stored.events.get(key)
    if (!row) {
      if (!isExcused(event, incarnation)) lost.push(`event ${key} (${event.incarnation})`)
    } else if (row.cmd !== event.cmd || row.data !== event.data) {
      different.push(`event ${key}: ${row.cmd} ${row.data} for ${event.cmd} ${event.data}`)
    }
    if (row && event.cmd === chat && stored.chats.get(key) !== event.message) {
      different.push(`chat ${key}: ${stored.chats.get(key)} for ${event.message}`)
    }
    if (row && listing.has(event.cmd) && stored.listed.get(key) !== event.listed) {
      different.push(`rows of ${key}: ${stored.listed.get(key)} for ${event.listed}`)
    }
  }
  const duplicate = [...stored.events.keys()].filter(key => !known.has(key)).map(key => `event ${key}`)
  return { lost, duplicate, different }
}

/**
 * In the gap ledger; where no log is read, what waits for one too. Where rooms' logs are read, there is no excuse for what
 * the provider still serves, and what waited until it forgot the room stands in the ledger as well. Of a room of which no
 * log was ever served nobody can know what is missing: only, that something may be.
 */
function excuses({ gaps, waiting, complete }: Stored, streams: readonly string[]) {
  const areLogsRead = streams.includes('room-events')
  return (event: TrueEvent, incarnation: number | undefined): boolean => {
    if (areLogsRead && event.isServed) return false
    const { app, room, sequence, cmd, data } = event
    if (event.isMuted) return !complete.has(`${app} ${room} ${incarnation}`)
    const isWaiting = waiting.has(`${app} ${room} ${sequence} ${cmd} ${data}`)
    if (isWaiting && !areLogsRead) return true
    return gaps.some(gap => covers(gap, event, isWaiting && gap.incarnation === null ? null : incarnation))
  }
}

const streamOf = { popupQuiz: 'popup-quiz', poll: 'poll' } as const

const chat = 3
/** Events of those who come and go, and of resources. */
const listing: ReadonlySet<number> = new Set([20, 1003])

function covers(gap: StoredGap, event: TrueEvent, incarnation: number | null | undefined): boolean {
  if (gap.app !== event.app) return false
  if (gap.unit === 'time') return gap.stream === 'app-events' && gap.from <= event.at && event.at <= gap.to
  return (
    gap.stream === 'room-events' &&
    gap.series === event.room &&
    gap.incarnation === incarnation &&
    gap.from <= event.sequence &&
    event.sequence <= gap.to
  )
}

function examineWidgets(truth: Truth, stored: Stored, incarnations: Incarnations): Findings {
  const lost: string[] = []
  const different: string[] = []
  const known = new Set<string>()
  for (const item of truth.widgetItems) {
    const key = `${item.app} ${item.room} ${incarnations.storedOf(item)} ${item.widget} ${item.place}`
    known.add(key)
    const row = stored.widgetItems.get(key)
    if (row === undefined) lost.push(`item ${key} (${item.incarnation})`)
    else if (row !== item.data) different.push(`item ${key}: ${row} for ${item.data}`)
    else if (item.isSubmission && !stored.submissions.has(key)) lost.push(`submission ${key}`)
  }
  const duplicate = [...stored.widgetItems.keys()].filter(key => !known.has(key)).map(key => `item ${key}`)
  return { lost, duplicate, different }
}

/**
 * What has come of a recording by now, url included, is listed as long as the room is served; where somebody was there
 * all the time, it was read before that was over.
 */
function examineRecordings(truth: Truth, stored: Stored, isInterrupted: boolean): readonly string[] {
  return truth.recordings
    .filter(({ key, isServed, state }) =>
      isServed || !isInterrupted ? stored.recordings.get(key) !== state : !stored.recordings.has(key),
    )
    .map(({ key, state }) => `recording ${key}: ${stored.recordings.get(key)} for ${state}`)
}
