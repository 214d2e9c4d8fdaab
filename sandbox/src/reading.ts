import {
  appEvents,
  batchSize,
  poll,
  popupQuiz,
  recordings,
  resources,
  roomEvents,
  withRegion,
} from '../../src/provider/classroom/index.ts'
import type { Operation } from '../../src/provider/operation.ts'
import type { Pager } from './paging.ts'
import { breaksRule } from './refusal.ts'
import { checkRegion, type Play, type RequestContext, roomOf } from './request-context.ts'
import { loggedEvent, servedEvent, servedWidgetItem } from './served.ts'
import { batch, most, wholeList } from './shapes.ts'
import { checkLog, checkMuted } from './spells.ts'
import type { Switches } from './switches.ts'
import type { Room, Widget } from './world.ts'

/** The reading operations, each with what it answers. */
export function readingPlays(switches: Switches, pager: Pager): readonly Play[] {
  const atPath = (operation: typeof popupQuiz | typeof poll): Operation =>
    switches.widgetPath === 'with-region' ? withRegion(operation) : operation
  const widget = (name: Widget) => (context: RequestContext) => widgetData(context, name, switches, pager)
  return [
    { operation: recordings, act: context => recordingList(context, switches, pager) },
    { operation: resources, act: context => resourceList(context, switches) },
    { operation: roomEvents, act: context => eventsOfRoom(context, switches, pager) },
    { operation: appEvents, act: context => eventsOfApp(context, switches) },
    { operation: atPath(popupQuiz), act: widget('popupQuiz') },
    { operation: atPath(poll), act: widget('poll') },
  ]
}

function recordingList(context: RequestContext, switches: Switches, pager: Pager): unknown {
  const room = readable(context, switches)
  const { recordings: all } = room.contents()
  return batch(pager.page(room, 'recordings', all, pageRequest(context, batchSize, switches)), switches)
}

function resourceList(context: RequestContext, switches: Switches): unknown {
  return wholeList([...readable(context, switches).contents().resources.values()], switches)
}

function eventsOfRoom(context: RequestContext, switches: Switches, pager: Pager): unknown {
  const room = readable(context, switches)
  checkLog(room, context.now, switches)
  const cmd = integer(context, 'cmd')
  const { events } = room.contents()
  const { now } = context
  const wanted = events.filter(
    event => (cmd === undefined || event.cmd === cmd) && (event.loggedFrom ?? now) <= now,
  )
  const page = pager.page(room, `events ${cmd ?? ''}`, wanted, pageRequest(context, batchSize, switches))
  return batch({ ...page, list: page.list.map(event => loggedEvent(room, event, now)) }, switches)
}

/** A room that may be asked about. Throws Refusal where it may not, and where roomOf does. */
function readable(context: RequestContext, switches: Switches): Room {
  const room = roomOf(context)
  checkMuted(room, context.now, switches)
  return room
}

/** The document shows no batch limit here. */
function eventsOfApp({ world, now, params }: RequestContext, { feedShape }: Switches): unknown {
  checkRegion(params)
  const isOne = feedShape === 'object' || feedShape === 'object-with-next-id'
  const feed = world.feed(params.region ?? '')
  const entries = feed?.take(now, isOne ? 1 : Number.POSITIVE_INFINITY) ?? []
  world.eventsFed += entries.length
  const list = entries.map(({ room, event }) => servedEvent(room, event()))
  switch (feedShape) {
    case 'array':
      return list
    case 'object':
      return list[0] ?? null
    case 'object-with-next-id':
      return { ...list[0], nextId: `e${world.eventsFed}` }
    case 'list':
      return { total: list.length, count: list.length, nextId: null, list }
  }
}

/** More than a batch is cut to a batch: the document names a default for count and no most. */
function widgetData(context: RequestContext, widget: Widget, switches: Switches, pager: Pager): unknown {
  const room = readable(context, switches)
  const count = integer(context, 'count') ?? batchSize
  if (count < 1) throw breaksRule('count must be positive')
  const log = room.contents().widgets[widget]
  const page = pager.page(room, widget, log, pageRequest(context, Math.min(count, batchSize), switches))
  return batch({ ...page, list: page.list.map(entry => servedWidgetItem(entry, switches)) }, switches)
}

function pageRequest({ query, loops }: RequestContext, batch: number, switches: Switches) {
  const nextId = query.get('nextId')
  const isFirst = nextId === null || nextId === '' || nextId === 'null'
  return { nextId: isFirst ? undefined : nextId, most: most(batch, switches), loops }
}

function integer({ query }: RequestContext, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^-?\d{1,10}$/.test(text)) throw breaksRule(`${name} must be an integer`)
  return Number(text)
}
