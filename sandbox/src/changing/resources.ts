import { deleteResources, uploadResource } from '../../../src/provider/classroom/index.ts'
import type { Classrooms } from '../classrooms.ts'
import { convert, put, remove } from '../lesson/materials.ts'
import { noResource } from '../refusal.ts'
import type { Switches } from '../switches.ts'
import { checkLength, identifier, type Play, roomOf, type Visit } from '../visit.ts'
import type { Resource } from '../world.ts'
import { optional, readBody, required } from './body.ts'

/** Whom the events name: the document asks for a user, and it is the customer's server that acts. */
const server = { userUuid: 'server', userName: 'server', role: 0 } as const

/** Operations 6 and 7. */
export function resourcePlays(classrooms: Classrooms, switches: Switches): readonly Play[] {
  return [
    { operation: uploadResource, act: visit => upload(visit, classrooms, switches) },
    { operation: deleteResources, act: visit => discard(visit, classrooms) },
  ]
}

/** A resource that is there already is replaced whole, its conversion with it. */
function upload(visit: Visit, classrooms: Classrooms, { uploadAnswer }: Switches): unknown {
  const { now } = visit
  const fields = readBody(visit.sent)
  const resourceUuid = identifier(visit, 'resourceUuid')
  const resource: Resource = {
    resourceUuid,
    resourceName: optional(fields, 'resourceName', 'String') ?? resourceUuid,
    ext: required(fields, 'ext', 'String'),
    size: required(fields, 'size', 'Number'),
    url: required(fields, 'url', 'String'),
    updateTime: now,
  }
  checkLength(resource.resourceName, 'resourceName')
  const conversion = optional(fields, 'conversion', 'Object')
  const { classroom } = classrooms.of(roomOf(visit))
  if (conversion) {
    convert(classroom, resource, { operator: server, later: classroom.whileThere.bind(classroom) }, now)
  } else {
    put(classroom, resource, server, now)
  }
  const { resources } = classroom.contents
  return uploadAnswer === 'object' ? resources.get(resourceUuid) : [...resources.values()]
}

/** All of them, or none where one is not there. Naming none changes nothing and tells of nothing. */
function discard(visit: Visit, classrooms: Classrooms): void {
  const uuids = required(readBody(visit.sent), 'resourceUuids', 'String array')
  for (const uuid of uuids) checkLength(uuid, 'each of resourceUuids')
  const { classroom } = classrooms.of(roomOf(visit))
  const { resources } = classroom.contents
  const named = [...new Set(uuids)].map(uuid => resources.get(uuid))
  const there = named.filter(resource => resource !== undefined)
  if (there.length < named.length) throw noResource()
  if (there.length > 0) remove(classroom, there, server, visit.now)
}
