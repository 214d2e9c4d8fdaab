import { cmds, resourceActions } from '../../provider/classroom/index.ts'
import type { Classroom } from '../classroom.ts'
import { documents } from '../names.ts'
import type { Resource } from '../world.ts'

/** A document for the lesson; some are converted for the whiteboard, page by page. */
export function upload(room: Classroom, now: number): void {
  const { draw } = room
  const [title, ext] = draw.pick(documents)
  const resourceUuid = `file-${draw.id().slice(0, 16)}`
  const resource: Resource = {
    resourceUuid,
    resourceName: `${title}.${ext}`,
    ext,
    size: draw.whole(2_000, 90_000_000),
    url: `https://files.example/${resourceUuid}.${ext}`,
    updateTime: now,
  }
  if (ext !== 'pptx') {
    put(room, resource, now)
    return
  }
  const task = { taskUuid: draw.id(), taskToken: `task-secret-${draw.id()}` }
  convert(room, { ...resource, ...task }, { pages: draw.whole(3, 40), done: 0 }, now)
}

function convert(
  room: Classroom,
  resource: Resource,
  at: { pages: number; done: number },
  now: number,
): void {
  put(room, { ...resource, updateTime: now, taskProgress: progress(resource, at) }, now)
  if (at.done === at.pages) return
  const done = Math.min(at.pages, at.done + room.draw.whole(1, at.pages))
  room.later(now + room.draw.between(3_000, 20_000), later => {
    if (room.contents.resources.has(resource.resourceUuid))
      convert(room, resource, { pages: at.pages, done }, later)
  })
}

function progress({ url }: Resource, { pages, done }: { pages: number; done: number }): object {
  return {
    totalPageSize: pages,
    convertedPageSize: done,
    convertedPercentage: Math.floor((100 * done) / pages),
    convertedFileList: Array.from({ length: done }, (_, page) => ({
      name: String(page + 1),
      src: `${url}/${page}`,
    })),
    currentStep: done < pages ? 'Extracting' : 'Packaging',
  }
}

export function discard(room: Classroom, now: number): void {
  const kept = [...room.contents.resources.values()]
  if (kept.length === 0) return
  const resource = room.draw.pick(kept)
  room.contents.resources.delete(resource.resourceUuid)
  tell(room, resource, resourceActions.deleted, now)
}

function put(room: Classroom, resource: Resource, now: number): void {
  room.contents.resources.set(resource.resourceUuid, resource)
  tell(room, resource, resourceActions.changed, now)
}

function tell(room: Classroom, resource: Resource, action: number, now: number): void {
  const { userUuid, userName, role } = room.teacher
  room.tell(cmds.resources, { resources: [resource], operator: { userUuid, userName, role }, action }, now)
}
