import {
  appEvents,
  batchSize,
  poll,
  popupQuiz,
  recordings,
  resources,
  roomEvents,
  withRegion,
} from '../provider/classroom/index.ts'
import type { Operation } from '../provider/operation.ts'
import type { Page, Pager } from './paging.ts'
import { breaksRule } from './refusal.ts'
import { servedEvent, servedWidgetItem } from './served.ts'
import type { Switches } from './switches.ts'
import { checkRegion, type Play, roomOf, type Visit } from './visit.ts'
import type { Widget } from './world.ts'

/** The reading operations, each with what it answers. */
export function readingPlays(switches: Switches, pager: Pager): readonly Play[] {
  const atPath = (operation: typeof popupQuiz | typeof poll): Operation =>
    switches.widgetPath === 'with-region' ? withRegion(operation) : operation
  const widget = (name: Widget) => (visit: Visit) => widgetData(visit, name, switches, pager)
  return [
    { operation: recordings, act: visit => recordingList(visit, pager) },
    { operation: resources, act: resourceList },
    { operation: roomEvents, act: visit => eventsOfRoom(visit, pager) },
    { operation: appEvents, act: visit => eventsOfApp(visit, switches) },
    { operation: atPath(popupQuiz), act: widget('popupQuiz') },
    { operation: atPath(poll), act: widget('poll') },
  ]
}

function recordingList(visit: Visit, pager: Pager): unknown {
  const room = roomOf(visit)
  return pager.page(room, 'recordings', room.contents().recordings, pageRequest(visit, batchSize))
}

function resourceList(visit: Visit): unknown {
  return [...roomOf(visit).contents().resources.values()]
}

function eventsOfRoom(visit: Visit, pager: Pager): unknown {
  const room = roomOf(visit)
  const cmd = integer(visit, 'cmd')
  const { events } = room.contents()
  const wanted = cmd === undefined ? events : events.filter(event => event.cmd === cmd)
  const page = pager.page(room, `events ${cmd ?? ''}`, wanted, pageRequest(visit, batchSize))
  return mapPage(page, event => servedEvent(room, event))
}

/** The document shows no batch limit here. */
function eventsOfApp({ world, now, params }: Visit, { feedShape }: Switches): unknown {
  checkRegion(params)
  const entries = world.feed.take(now, feedShape === 'object' ? 1 : Number.POSITIVE_INFINITY)
  world.eventsFed += entries.length
  const list = entries.map(({ room, event }) => servedEvent(room, event()))
  switch (feedShape) {
    case 'array':
      return list
    case 'object':
      return list[0] ?? null
    case 'list':
      return { total: list.length, count: list.length, nextId: null, list }
  }
}

/** More than a batch is cut to a batch: the document names a default for count and no most. */
function widgetData(visit: Visit, widget: Widget, switches: Switches, pager: Pager): unknown {
  const room = roomOf(visit)
  const count = integer(visit, 'count') ?? batchSize
  if (count < 1) throw breaksRule('count must be positive')
  const log = room.contents().widgets[widget]
  const page = pager.page(room, widget, log, pageRequest(visit, Math.min(count, batchSize)))
  return mapPage(page, entry => servedWidgetItem(entry, switches))
}

function mapPage<From, To>(page: Page<From>, change: (item: From) => To): Page<To> {
  return { ...page, list: page.list.map(change) }
}

function pageRequest({ query, loops }: Visit, most: number) {
  const nextId = query.get('nextId')
  return { nextId: nextId === null || nextId === '' || nextId === 'null' ? undefined : nextId, most, loops }
}

function integer({ query }: Visit, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^-?\d{1,10}$/.test(text)) throw breaksRule(`${name} must be an integer`)
  return Number(text)
}
