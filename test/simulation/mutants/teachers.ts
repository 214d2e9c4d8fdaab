import type { Plant } from './plant.ts'

/** Bugs of the operations that people use by hand, chosen from the contract. */
export const teachers: readonly Plant[] = [
  {
    name: 'properties-set-instead-of-deleted',
    says: 'properties of a room are put where they should be deleted',
    group: 'classrooms',
    from: 'contract',
    file: 'src/provider/classroom/properties.ts',
    find: `  method: 'DELETE',
  path: ofRoom,`,
    put: `  method: 'PUT',
  path: ofRoom,`,
  },
  {
    name: 'resources-of-the-second-version',
    says: 'resources are uploaded and deleted at the version of the paths of all else',
    group: 'classrooms',
    from: 'contract',
    file: 'src/provider/classroom/resources.ts',
    find: `const path = '/{region}/edu/apps/{appId}/v1/rooms/{roomUuid}/resources'`,
    put: `const path = '/{region}/edu/apps/{appId}/v2/rooms/{roomUuid}/resources'`,
  },
  {
    name: 'reasons-left-out',
    says: 'the reason why properties of a user are deleted is not sent',
    group: 'classrooms',
    from: 'contract',
    file: 'src/provider/operation.ts',
    find: `  return { operation, method, target, body: checked(operation, operation.body, 'body', body) }`,
    put: `  const { cause: _, ...rest } = checked(operation, operation.body, 'body', body) as Record<string, unknown>
  return { operation, method, target, body: rest }`,
  },
  {
    name: 'state-of-a-room-instead-of-its-recording',
    says: 'a recording is started at the path of the state of its room',
    group: 'classrooms',
    from: 'contract',
    file: 'src/provider/classroom/recordings.ts',
    find: `/rooms/{roomUuid}/records/states/{state}'`,
    put: `/rooms/{roomUuid}/states/{state}'`,
  },
  {
    name: 'names-in-a-path-as-they-are',
    says: 'names with spaces and slashes stand in a path as they are',
    group: 'classrooms',
    from: 'contract',
    file: 'src/provider/operation.ts',
    find: 'return encodeURIComponent(text)',
    put: 'return text',
  },
]
