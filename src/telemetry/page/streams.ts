import { html } from 'ghtml'
import type { Span, StreamLabels } from '../../engine/ports.ts'
import { secondsFrom } from '../delays.ts'
import type { StreamReading } from '../process-status.ts'
import { allowedLag } from '../thresholds.ts'
import { countOf, duration } from '../wording.ts'
import { type PageFacts, part, type StreamTitle, spans } from './parts.ts'
import {
  type CellState,
  cells,
  cellsOf,
  cellTexts,
  ribbonText,
  runsOf,
  type Standing,
  worstOf,
} from './ribbon.ts'

/** What is known of one stream over the apps that are shown. */
interface StreamFacts extends StreamTitle {
  readonly reading: readonly StreamReading[]
  readonly ribbon: readonly CellState[]
  readonly readAt: number | null
  /** What waits to be read: of streams by time, seconds of the series that has the most. */
  readonly waiting: { readonly seconds: number; readonly items: number }
}

/** Every stream with its ribbon of time. */
export function streamPart(facts: PageFacts): string {
  const now = Date.parse(facts.status.at) / 1_000
  const span = spans[facts.span ?? fitting(facts, now)]
  const shown = facts.streams.flatMap(stream => streamFacts(facts, stream, [now - span.seconds, now]))
  const list = shown.map(stream => streamItem(stream, facts, now, span.text)).join('')
  const content =
    shown.length > 0
      ? html`!${legend}<ul class="plain streams">!${list}</ul>`
      : html`<p class="soft">Nothing has been read yet.</p>`
  return html`<section aria-labelledby="streams"><h2 id="streams">What is read</h2>
!${part('streams', content)}</section>`
}

/** An hour in the first hour, so that something is to be seen; a day later. */
function fitting({ timelines }: PageFacts, now: number): keyof typeof spans {
  // The details of calls begin where their calls do, which may be long before the first start.
  const live = timelines.filter(
    each => !each.isByTime && !each.stream.startsWith('call-') && each.begins !== null,
  )
  const begins = Math.min(now, ...live.map(each => each.begins!))
  return now - begins < spans['1h'].seconds ? '1h' : '1d'
}

function streamFacts(facts: PageFacts, stream: StreamTitle, range: Span): readonly StreamFacts[] {
  const { status, app } = facts
  const isShown = (each: StreamLabels) =>
    each.stream === stream.name && (app === undefined || each.app === app)
  const reading = (status.process?.reading ?? []).filter(isShown)
  const stored = (status.streams ?? []).filter(isShown)
  const backlog = (status.backlog ?? []).filter(isShown)
  const timelines = facts.timelines.filter(isShown)
  if (reading.length + stored.length + timelines.length === 0) return []
  const readTimes = new Map<string, number>()
  for (const { app, lastCommit } of stored) if (lastCommit) readTimes.set(app, Date.parse(lastCommit) / 1_000)
  for (const { app, readAt } of reading) if (readAt) readTimes.set(app, Date.parse(readAt) / 1_000)
  const byApp = new Map(reading.map(each => [each.app, each]))
  const standing = (id: string): Standing => {
    const readAt = readTimes.get(id) ?? null
    return { readAt, isLate: isLate(byApp.get(id)) }
  }
  return [
    {
      ...stream,
      reading,
      ribbon: worstOf(timelines.map(each => cellsOf(each, standing(each.app), range))),
      readAt: readTimes.size > 0 ? Math.max(...readTimes.values()) : null,
      waiting: {
        seconds: Math.max(0, ...backlog.map(each => each.longestUnreadSeconds)),
        items: backlog.reduce((sum, each) => sum + each.items, 0),
      },
    },
  ]
}

function isLate(reading: StreamReading | undefined): boolean {
  if (!reading) return false
  if (reading.lateSeconds > allowedLag(reading.stream)) return true
  const { failing } = reading
  return failing !== null && secondsFrom(failing.since, failing.last) > 30
}

function streamItem(stream: StreamFacts, { status }: PageFacts, now: number, span: string): string {
  const { name, title, reading, ribbon, readAt, waiting } = stream
  const failing = reading.filter(each => each.failing !== null && isLate(each))
  const facts = [
    html`<span>last success <b>${readAt === null ? 'none yet' : `${duration(now - readAt)} ago`}</b></span>`,
    html`<span>lag <b>${lagText(reading, status.apps.length)}</b></span>`,
    waiting.items > 0
      ? html`<span><b>${countOf(waiting.items, 'part')} of calls</b> to be fetched</span>`
      : '',
    waiting.items === 0 && waiting.seconds > 0
      ? html`<span><b>${duration(waiting.seconds)} of data</b> not read yet</span>`
      : '',
    failing.length > 0
      ? html`<span><b>every page fails${status.apps.length > 1 ? ` of ${countOf(failing.length, 'app')}` : ''}</b> (${failing[0]!.failing!.reason})</span>`
      : '',
  ]
  const late = reading.some(each => isLate(each))
  return html`<li class="${late ? 'late' : ''}"><h3>${name}</h3><p class="soft">${title}</p>
!${ribbonImage(ribbon, `${name}, ${span}: ${ribbonText(ribbon)}`)}
<div class="axis" aria-hidden="true"><span>${span}</span><span>now</span></div>
<p class="facts">!${facts.join('')}</p></li>`
}

/** Of the app that is latest; a stream whose pages fail is as late as they have failed. */
function lagText(reading: readonly StreamReading[], apps: number): string {
  const [latest] = reading
    .map(({ app, stream, lateSeconds, failing }) => {
      const failed = failing ? secondsFrom(failing.since, failing.last) : 0
      return { app, stream, lag: Math.max(lateSeconds, failed) }
    })
    .toSorted((a, b) => b.lag - a.lag)
  if (!latest || latest.lag < 1) return 'none'
  const app = apps > 1 && latest.lag > allowedLag(latest.stream) ? ` (app ${latest.app})` : ''
  return `${duration(latest.lag)}${app}`
}

function ribbonImage(ribbon: readonly CellState[], text: string): string {
  const rects = runsOf(ribbon).map(
    ({ state, from, length }) =>
      html`<rect class="${state}" x="${from}" width="${length}" height="1"></rect>`,
  )
  return html`<svg class="ribbon" role="img" aria-label="${text}" viewBox="0 0 ${cells} 1" preserveAspectRatio="none">!${rects.join('')}</svg>`
}

const legend = html`<p class="legend" aria-label="Colours of the ribbons">!${(
  ['complete', 'reading', 'waiting', 'lost', 'absent'] as const
)
  .map(
    state =>
      html`<span><svg aria-hidden="true" viewBox="0 0 2 1"><rect class="${state}" width="2" height="1"></rect></svg>${cellTexts[state]}</span>`,
  )
  .join('')}</p>`
