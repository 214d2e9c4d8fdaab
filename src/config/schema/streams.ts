import { z } from 'zod'
import { formatDuration } from '../../settings/duration.ts'
import { section } from '../../settings/leaf.ts'
import { duration, oneOf } from '../../settings/values.ts'
import type { CursorStreamName, StreamName } from '../../streams/stream.ts'
import { type AnalyticsStreams, analyticsStreamShapes, defaultAnalyticsStreams } from './analytics-streams.ts'

/** How often a feed or a list of the whole app is asked, ms. */
export interface FeedCadence {
  readonly every: number
}

/** How often a room is asked while something happens in it and while nothing does, ms. */
export interface RoomCadence {
  readonly activeEvery: number
  readonly idleEvery: number
}

/** The settings of each stream whose pages follow each other. */
export interface StreamCadences {
  readonly 'app-events': FeedCadence
  readonly 'room-events': RoomCadence
  readonly 'popup-quiz': RoomCadence
  readonly poll: RoomCadence
  readonly recordings: RoomCadence
  readonly resources: RoomCadence
  readonly 'cloud-players': FeedCadence
}

/** The settings of every stream. */
export interface AllStreams extends StreamCadences, AnalyticsStreams {}

const second = 1_000
const hour = 3_600_000

const cursorStreams: StreamCadences & Record<CursorStreamName, object> = {
  'app-events': { every: 2 * second },
  'room-events': { activeEvery: 30 * second, idleEvery: hour },
  'popup-quiz': { activeEvery: 15 * second, idleEvery: hour },
  poll: { activeEvery: 15 * second, idleEvery: hour },
  recordings: { activeEvery: 60 * second, idleEvery: hour },
  resources: { activeEvery: 60 * second, idleEvery: hour },
  'cloud-players': { every: 15 * second },
}

export const defaultStreams: AllStreams = { ...cursorStreams, ...defaultAnalyticsStreams }

export const streamNames = Object.keys(defaultStreams) as readonly StreamName[]

function feed({ every }: FeedCadence) {
  return {
    every: duration('500ms', '1m')
      .optional()
      .describe('How often the app is asked what is new in all its rooms.')
      .meta({ default: formatDuration(every) }),
  }
}

function list({ every }: FeedCadence) {
  return {
    every: duration('5s', '1h')
      .optional()
      .describe('How often the whole list is read. The provider allows 15 pages of 500 a minute.')
      .meta({ default: formatDuration(every) }),
  }
}

function rooms({ activeEvery, idleEvery }: RoomCadence) {
  return {
    activeEvery: duration('1s', '1h')
      .optional()
      .describe('How often a room is asked while something happens in it.')
      .meta({ default: formatDuration(activeEvery) }),
    idleEvery: duration('1s', '7d')
      .optional()
      .describe('How often a room is asked while nothing happens in it.')
      .meta({ default: formatDuration(idleEvery) }),
  }
}

const analytics = analyticsStreamShapes

function stream<S extends z.core.$ZodLooseShape>(settings: S, meaning: string) {
  return z
    .union([oneOf(['off']), section(settings, { noun: 'setting' })])
    .optional()
    .describe(`${meaning} "off" switches it off.`)
}

/** Settings by stream; what is left out stays as it is by default, or as the whole file says for an app. */
export const streams = section(
  {
    'app-events': stream(
      feed(defaultStreams['app-events']),
      'The fast hint: what is new in all rooms of an app.',
    ),
    'room-events': stream(rooms(defaultStreams['room-events']), 'The complete log of each room.'),
    'popup-quiz': stream(rooms(defaultStreams['popup-quiz']), 'Pop-up quizzes and their answers.'),
    poll: stream(rooms(defaultStreams.poll), 'Polls and their answers.'),
    recordings: stream(rooms(defaultStreams.recordings), 'Recordings and their files.'),
    resources: stream(rooms(defaultStreams.resources), 'Shared files.'),
    'cloud-players': stream(
      list(defaultStreams['cloud-players']),
      'Cloud players: what they play where, and how their status changed.',
    ),
    calls: stream(analytics.calls.settings, analytics.calls.meaning),
    'call-sessions': stream(analytics['call-sessions'].settings, analytics['call-sessions'].meaning),
    'call-metrics': stream(analytics['call-metrics'].settings, analytics['call-metrics'].meaning),
    'usage-insight': stream(analytics['usage-insight'].settings, analytics['usage-insight'].meaning),
    'quality-insight': stream(analytics['quality-insight'].settings, analytics['quality-insight'].meaning),
    'realtime-usage': stream(analytics['realtime-usage'].settings, analytics['realtime-usage'].meaning),
    'realtime-quality': stream(analytics['realtime-quality'].settings, analytics['realtime-quality'].meaning),
  },
  { noun: 'stream' },
)
