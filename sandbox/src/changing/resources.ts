import { deleteResources, uploadResource } from '../../../src/provider/classroom/index.ts'
import type { Classrooms } from '../classrooms.ts'
import { convert, put, remove } from '../lesson/materials.ts'
import { noResource } from '../refusal.ts'
import { checkLength, identifier, type Play, type RequestContext, roomOf } from '../request-context.ts'
import type { Switches } from '../switches.ts'
import type { Resource } from '../world.ts'
import { optional, readBody, required } from './body.ts'

/** Whom the events name: the document asks for a user, and it is the customer's server that acts. */
const server = { userUuid: 'server', userName: 'server', role: 0 } as const

/** Operations 6 and 7. */
export function resourcePlays(classrooms: Classrooms, switches: Switches): readonly Play[] {
  return [
    { operation: uploadResource, act: context => upload(context, classrooms, switches) },
    { operation: deleteResources, act: context => discard(context, classrooms) },
  ]
}

/** A resource that is there already is replaced whole, its conversion with it. */
function upload(context: RequestContext, classrooms: Classrooms, { uploadAnswer }: Switches): unknown {
  const { now } = context
  const fields = readBody(context.sent)
  const resourceUuid = identifier(context, 'resourceUuid')
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
  const { classroom } = classrooms.of(roomOf(context))
  if (conversion) {
    convert(classroom, resource, { operator: server, later: classroom.whileThere.bind(classroom) }, now)
  } else {
    put(classroom, resource, server, now)
  }
  const { resources } = classroom.contents
  return uploadAnswer === 'object' ? resources.get(resourceUuid) : [...resources.values()]
}

/** All of them, or none where one is not there. Naming none changes nothing and tells of nothing. */
function discard(context: RequestContext, classrooms: Classrooms): void {
  const uuids = required(readBody(context.sent), 'resourceUuids', 'String array')
  for (const uuid of uuids) checkLength(uuid, 'each of resourceUuids')
  const { classroom } = classrooms.of(roomOf(context))
  const { resources } = classroom.contents
  const named = [...new Set(uuids)].map(uuid => resources.get(uuid))
  const there = named.filter(resource => resource !== undefined)
  if (there.length < named.length) throw noResource()
  if (there.length > 0) remove(classroom, there, server, context.now)
}
