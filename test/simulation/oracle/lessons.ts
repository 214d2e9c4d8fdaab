import { canonical } from './canonical.ts'
import type { Examination, Finding } from './examination.ts'

export interface SentRequest {
  readonly method: string
  readonly target: string
  readonly body: unknown
}

/** What somebody did in a classroom by hand, what went over the wire for it, and what was said in the end. */
export interface Lesson {
  readonly app: string
  readonly operation: keyof typeof lines
  readonly given: Readonly<Record<string, unknown>>
  /** The kind of the error, or `done`. */
  readonly end: string
  readonly sent: readonly SentRequest[]
}

/** The operations that change a classroom, as the provider's document has them: method, version, and path below the room. */
const lines = {
  kickUser: 'POST v2 users/{userUuid}/exit',
  setRoomState: 'PUT v2 states/{state}',
  setRecordingState: 'PUT v2 records/states/{state}',
  updateRecordingConfig: 'PUT v2 records/states/{state}',
  uploadResource: 'PUT v1 resources/{resourceUuid}',
  deleteResources: 'DELETE v1 resources',
  updateRoomProperties: 'PUT v2 properties',
  deleteRoomProperties: 'DELETE v2 properties',
  updateUserProperties: 'PUT v2 users/{userUuid}/properties',
  deleteUserProperties: 'DELETE v2 users/{userUuid}/properties',
  updateExtAppProperties: 'PUT v2 extApps/{extAppUuid}/properties',
  deleteExtAppProperties: 'DELETE v2 extApps/{extAppUuid}/properties',
} as const

/** Whoever changes a classroom by hand has that sent which the document asks for, once, and is told what came of it. */
export function examineLessons({ lessons = [], apps }: Examination): readonly Finding[] {
  return lessons.flatMap(lesson => {
    const regions = apps.find(({ id }) => id === lesson.app)?.regions ?? []
    const wanted = regions.map(region => textOf(requestOf(region, lesson)))
    const sent = lesson.sent.map(textOf)
    const wrong = sent.filter(request => !wanted.includes(request))
    const said = (text: string): Finding => ({
      kind: 'different',
      text: `${lesson.operation} by hand: ${text}`,
    })
    return [
      ...wrong.map(request => said(`${request} instead of ${wanted.join(' or ')}`)),
      ...(sent.length === 0 && lesson.end === 'done' ? [said('done, and nothing was sent')] : []),
      ...(refusals.includes(lesson.end) ? [said(`ends with ${lesson.end}`)] : []),
    ]
  })
}

/** Kinds of errors that say that what was sent is wrong. Whoever is put out may have left. */
const refusals = ['bad_request', 'malformed', 'parameter', 'unauthorized', 'unexpected_code']

function textOf({ method, target, body }: SentRequest): string {
  const said = canonical(body ?? {})
  return `${method} ${target} ${said === '{}' ? '' : said}`
}

function requestOf(region: string, { app, operation, given }: Lesson): SentRequest {
  const [method = '', version, below = ''] = lines[operation].split(' ')
  const { roomUuid, ...rest } = given
  const inPath = new Set<string>()
  const path = below.replace(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return encodeURIComponent(String(rest[name]))
  })
  const body = Object.fromEntries(Object.entries(rest).filter(([name]) => !inPath.has(name)))
  const room = `/${region}/edu/apps/${encodeURIComponent(app)}/${version}/rooms/${encodeURIComponent(String(roomUuid))}`
  return {
    ...{ method, target: `${room}/${path}` },
    body,
  }
}
