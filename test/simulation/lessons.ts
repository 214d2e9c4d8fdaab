import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Lesson } from './oracle/lessons.ts'

type Room = NonNullable<ReturnType<Sandbox['universe']['app']>>['rooms'][number]

/** Names that a path cannot hold as they are. */
const odd = 'board 7/a?b#c%d'

/** The operations that change a classroom, each with all that it takes. */
const lessons = [
  { operation: 'kickUser', given: { dirty: { state: 1, duration: 600 } } },
  {
    operation: 'updateRoomProperties',
    given: { properties: { mood: 'calm', seats: [1, 2] }, cause: { by: 'us' } },
  },
  {
    operation: 'setRecordingState',
    given: { state: 1, mode: 'web', webRecordConfig: { rootUrl: 'https://a.example' }, retryTimeout: 60 },
  },
  { operation: 'updateRecordingConfig', given: { state: 1, webRecordConfig: { onhold: true } } },
  { operation: 'deleteRoomProperties', given: { properties: ['mood'], cause: { by: 'them' } } },
  {
    operation: 'uploadResource',
    given: {
      resourceUuid: odd,
      resourceName: 'map',
      size: 12,
      ext: 'pptx',
      url: 'https://files.example/map.pptx',
      conversion: { type: 'static' },
    },
  },
  { operation: 'updateUserProperties', given: { properties: { hat: null }, cause: {} } },
  { operation: 'deleteUserProperties', given: { properties: ['hat', 'shoe'] } },
  {
    operation: 'updateExtAppProperties',
    given: { extAppUuid: odd, properties: { turn: 2 }, common: { state: 0 }, cause: { why: 'rain' } },
  },
  {
    operation: 'deleteExtAppProperties',
    given: { extAppUuid: odd, properties: ['turn'], cause: { why: 'sun' } },
  },
  { operation: 'deleteResources', given: { resourceUuids: [odd, 'other'] } },
  { operation: 'setRecordingState', given: { state: 0 } },
  { operation: 'kickUser', given: {} },
  { operation: 'setRoomState', given: { state: 1 } },
] as const

/** One after the other, and then again, of whoever came last or of nobody. */
export function lessonOf(
  turn: number,
  { uuid: roomUuid, contents }: Room,
): Pick<Lesson, 'operation' | 'given'> {
  const { operation, given } = lessons[turn % lessons.length]!
  const userUuid = /"userUuid":"([^"]+)"/.exec(JSON.stringify(contents().events.at(-1)?.data))?.[1] ?? odd
  const isOfUser = operation.includes('User')
  return { operation, given: { roomUuid, ...(isOfUser && { userUuid }), ...given } }
}
