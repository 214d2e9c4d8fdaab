import { cmds, resourceActions } from '../../../src/provider/classroom/index.ts'
import type { Classroom } from '../classroom.ts'
import { documents } from '../names.ts'
import type { Member, Resource } from '../world.ts'

/** Lets something happen later, as long as what it belongs to goes on. */
type Later = (time: number, act: (now: number) => void) => void

/** A document on its way to the whiteboard. */
export interface Conversion {
  readonly operator: Member
  readonly pages: number
  readonly done: number
  readonly later: Later
  /** It is slow, and the list alone tells how far it is. */
  readonly isQuiet?: boolean
}

/** A document for the lesson; some are converted for the whiteboard, page by page. */
export function upload(room: Classroom, now: number): void {
  const { draw, teacher } = room
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
  const { quietConversion } = room.rules.quirks
  const isQuiet = quietConversion > 0 && draw.chance(quietConversion)
  if (isQuiet || ext === 'pptx') {
    convert(room, resource, { operator: teacher, later: (time, act) => room.later(time, act), isQuiet }, now)
  } else {
    put(room, resource, teacher, now)
  }
}

/** Uploads a document that is converted for the whiteboard; each step of that changes it. */
export function convert(
  room: Classroom,
  resource: Resource,
  by: Pick<Conversion, 'operator' | 'later' | 'isQuiet'>,
  now: number,
): void {
  const { draw } = room
  const task = { taskUuid: draw.id(), taskToken: `task-secret-${draw.id()}` }
  carryOn(room, { ...resource, ...task }, { ...by, pages: draw.whole(3, 40), done: 0 }, now)
}

function carryOn(room: Classroom, resource: Resource, conversion: Conversion, now: number): void {
  const { operator, pages, done, later, isQuiet = false } = conversion
  const changed = { ...resource, updateTime: now, taskProgress: progress(resource, conversion) }
  if (isQuiet && done > 0) step(room, changed)
  else put(room, changed, operator, now)
  if (done === pages) return
  const next = Math.min(pages, done + room.draw.whole(1, isQuiet ? Math.ceil(pages / 4) : pages))
  const pause = isQuiet ? room.draw.between(20_000, 90_000) : room.draw.between(3_000, 20_000)
  later(now + pause, then => {
    const current = room.contents.resources.get(resource.resourceUuid)
    if (current?.taskUuid === resource.taskUuid) carryOn(room, resource, { ...conversion, done: next }, then)
  })
}

function progress({ url }: Resource, { pages, done }: Conversion): object {
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
  const { clearedFiles } = room.rules.quirks
  if (kept.length === 0) return
  if (clearedFiles > 0 && room.draw.chance(clearedFiles)) clear(room, kept, now)
  else remove(room, [room.draw.pick(kept)], room.teacher, now)
}

function clear(room: Classroom, kept: readonly Resource[], now: number): void {
  const { draw, teacher } = room
  remove(room, kept, teacher, now)
  const { taskUuid, taskToken: _, taskProgress: __, ...file } = draw.pick(kept)
  room.later(now + draw.between(90_000, 240_000), then => {
    const again = { ...file, updateTime: then }
    if (taskUuid === undefined) put(room, again, teacher, then)
    else convert(room, again, { operator: teacher, later: (time, act) => room.later(time, act) }, then)
  })
}

function step({ contents }: Classroom, resource: Resource): void {
  contents.resources.set(resource.resourceUuid, resource)
  contents.steps.push(resource)
}

export function put(room: Classroom, resource: Resource, operator: Member, now: number): void {
  room.contents.resources.set(resource.resourceUuid, resource)
  tell(room, { resources: [resource], operator, action: resourceActions.changed }, now)
}

export function remove(room: Classroom, resources: readonly Resource[], operator: Member, now: number): void {
  for (const { resourceUuid } of resources) room.contents.resources.delete(resourceUuid)
  tell(room, { resources, operator, action: resourceActions.deleted }, now)
}

interface Change {
  readonly resources: readonly Resource[]
  readonly operator: Member
  readonly action: number
}

function tell(room: Classroom, { resources, operator, action }: Change, now: number): void {
  const { userUuid, userName, role } = operator
  room.tell(cmds.resources, { resources, operator: { userUuid, userName, role }, action }, now)
}
