import { withRegion } from '../provider/classroom/index.ts'
import { appEvents } from './classroom/app-events.ts'
import { poll } from './classroom/poll.ts'
import { popupQuiz } from './classroom/popup-quiz.ts'
import { recordings } from './classroom/recordings.ts'
import { resources } from './classroom/resources.ts'
import { roomEvents } from './classroom/room-events.ts'
import type { Stream, StreamName } from './stream.ts'

/** Every stream by its name. */
export const streams = {
  'app-events': appEvents,
  'room-events': roomEvents,
  'popup-quiz': popupQuiz,
  poll,
  recordings,
  resources,
} as const satisfies Readonly<Record<StreamName, Stream>>

/** The streams as a deployment wants them asked: some serve the widget paths only behind a region segment. */
export function configuredStreams(settings: {
  readonly widgetPath: 'without-region' | 'with-region'
}): readonly Stream[] {
  if (settings.widgetPath === 'without-region') return Object.values(streams)
  return Object.values(streams).map(stream =>
    stream.name === 'popup-quiz' || stream.name === 'poll'
      ? { ...stream, operation: withRegion(stream.operation) }
      : stream,
  )
}
