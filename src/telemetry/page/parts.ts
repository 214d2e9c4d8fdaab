import { html } from 'ghtml'
import type { Timeline } from '../../engine/ports.ts'
import type { BudgetStatus } from '../process-status.ts'
import type { Status } from '../status.ts'
import { countOf, duration, lossTexts, moment } from '../wording.ts'

/** How far back a ribbon can reach, seconds. */
export const spans = {
  '1h': { seconds: 3_600, text: 'the last hour' },
  '1d': { seconds: 86_400, text: 'the last 24 hours' },
  '8d': { seconds: 8 * 86_400, text: 'the last 8 days' },
} as const

export interface StreamTitle {
  readonly name: string
  readonly title: string
}

/** What of the page someone asked for. */
export interface Choice {
  readonly app: string | undefined
  readonly span: keyof typeof spans | undefined
}

export interface PageFacts extends Choice {
  readonly status: Status
  readonly timelines: readonly Timeline[]
  readonly streams: readonly StreamTitle[]
}

/** A piece of the page that is brought up to date by itself. */
export function part(name: string, content: string, kind = ''): string {
  return html`<div data-part="${name}" class="${kind}">!${content}</div>`
}

/** Rows of a table beyond this many are for SQL. */
const mostRows = 100

function section(name: string, title: string, content: string): string {
  return html`<section aria-labelledby="${name}"><h2 id="${name}">${title}</h2>!${part(name, content)}</section>`
}

function none(sentence: string): string {
  return html`<p class="soft">${sentence}</p>`
}

interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  readonly isNumber?: boolean
}

/** A table of what is known, or a sentence in its place. */
function listing<Row>(
  title: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[] | undefined,
  empty: string,
): string {
  if (!rows) return none('Not known: the database has told nothing yet.')
  if (rows.length === 0) return none(empty)
  const kind = ({ isNumber }: Column<Row>) => (isNumber ? ' class="n"' : '')
  const head = columns.map(each => html`<th scope="col"!${kind(each)}>${each.title}</th>`).join('')
  const body = rows
    .slice(0, mostRows)
    .map(
      row => html`<tr>!${columns.map(each => html`<td!${kind(each)}>${each.text(row)}</td>`).join('')}</tr>`,
    )
  const more = rows.length - mostRows
  return html`<div class="wide" role="region" aria-label="${title}" tabindex="0"><table><thead><tr>!${head}</tr></thead>
<tbody>!${body.join('')}</tbody></table></div>!${more > 0 ? none(`and ${countOf(more, 'more row')}; /status has them all`) : ''}`
}

function shown<Row extends { readonly app: string }>({ app }: PageFacts, rows: readonly Row[] = []) {
  return rows.filter(row => app === undefined || row.app === app)
}

/** All apps that the page tells of: those of this process, and those that others drain. */
export function appsOf({ status, timelines }: PageFacts): readonly string[] {
  return [...new Set([...status.apps, ...timelines.map(each => each.app)])].toSorted()
}

/** The app, where there are several of them on the page. */
function appColumn<Row extends { readonly app: string }>(facts: PageFacts): readonly Column<Row>[] {
  return facts.app === undefined && appsOf(facts).length > 1 ? [{ title: 'app', text: row => row.app }] : []
}

/** Each limit for a day as a bar, with the pace at which it is spent. */
export function budgetPart({ status }: PageFacts): string {
  const budgets = status.process?.budgets ?? []
  const content =
    budgets.length === 0
      ? none('Nothing with a limit for a day was asked yet.')
      : html`<p class="soft">What the plan allows in 24 hours. Where several credentials share a limit's name, the one that is worst off.</p>
<ul class="plain cards">!${budgets.map(budgetCard).join('')}</ul>`
  return section('budgets', 'Budgets of requests', content)
}

function budgetCard({ group, usedRatio, pace }: BudgetStatus): string {
  const used = Math.round(usedRatio * 100)
  const kind = usedRatio > 0.995 ? 'used full' : 'used'
  const speed =
    pace < 0.05 ? 'nothing was spent of late' : `spent at ${pace.toFixed(1)} times an even pace over the day`
  return html`<li><h3>${group}</h3><span class="big">${used} %</span> used
<svg class="bar" role="img" aria-label="${used} % of ${group} used" viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="${kind}" width="${Math.min(100, usedRatio * 100)}" height="1"></rect></svg>
<p class="soft">${speed}</p></li>`
}

/** What is missing and may still be had, by its deadline; then what was lost. */
export function gapPart(facts: PageFacts): string {
  const { at } = facts.status
  const rows = shown(facts, facts.status.gaps).filter(({ state }) => state === 'open' || state === 'lost')
  const order = (until: string | null) => (until === null ? Number.POSITIVE_INFINITY : Date.parse(until))
  const sorted = rows.toSorted(
    (a, b) => b.state.localeCompare(a.state) || order(a.recoverableUntil) - order(b.recoverableUntil),
  )
  const deadline = ({ state, recoverableUntil, lostToday }: (typeof rows)[number]) => {
    if (state === 'lost') return lostToday > 0 ? `lost, ${lostToday} within 24 hours` : 'lost'
    if (recoverableUntil === null) return 'is read again'
    return `can be had until ${moment(recoverableUntil, at)}`
  }
  const columns: readonly Column<(typeof rows)[number]>[] = [
    ...appColumn(facts),
    { title: 'stream', text: row => row.stream },
    { title: 'why', text: row => lossTexts[row.reason] ?? row.reason },
    { title: 'how many', isNumber: true, text: row => countOf(row.gaps, 'range') },
    { title: 'deadline', text: deadline },
  ]
  const empty = 'No gaps: nothing that was asked for is missing.'
  const content = listing('Gaps', columns, facts.status.gaps && sorted, empty)
  return section('gaps', 'What is missing', content)
}

export function letterPart(facts: PageFacts): string {
  const { at } = facts.status
  const rows = shown(facts, facts.status.deadLetters)
  const columns: readonly Column<(typeof rows)[number]>[] = [
    ...appColumn(facts),
    { title: 'stream', text: row => row.stream },
    { title: 'reason', text: row => row.reason.replaceAll('_', ' ') },
    { title: 'how many', isNumber: true, text: row => countOf(row.letters, 'letter') },
    { title: 'last', text: row => moment(row.lastSeen, at) },
  ]
  const empty = 'No dead letters: everything that arrived could be read.'
  const content = listing('Dead letters', columns, facts.status.deadLetters && rows, empty)
  return section('letters', 'What could not be read', content)
}

export function roomPart(facts: PageFacts): string {
  const states = Map.groupBy(shown(facts, facts.status.rooms), ({ state }) => state)
  const cards = [...states].map(([state, alike]) => {
    const count = alike.reduce((sum, { rooms }) => sum + rooms, 0)
    return html`<li><h3>${state}</h3><span class="big">${countOf(count, 'room')}</span></li>`
  })
  const content =
    cards.length === 0
      ? none('No rooms are known yet.')
      : html`<ul class="plain cards">!${cards.join('')}</ul>`
  return section('rooms', 'Rooms, by how they stand', content)
}

export function ownerPart({ status }: PageFacts): string {
  const { owners = [], at, process, replicaAt } = status
  const by = replicaAt ? none(`Told by a read replica, as things stood ${moment(replicaAt, at)}.`) : ''
  const columns: readonly Column<(typeof owners)[number]>[] = [
    { title: 'process', text: ({ owner }) => (owner === process?.owner ? `${owner} (this one)` : owner) },
    { title: 'owns', isNumber: true, text: ({ shards }) => countOf(shards, 'shard') },
    {
      title: 'renewed for',
      text: ({ expiresAt }) =>
        `${duration(Math.max(0, (Date.parse(expiresAt) - Date.parse(at)) / 1_000))} more`,
    },
  ]
  const content = listing('Owners', columns, owners, 'No process owns the apps.')
  return section('owners', 'Who drains', `${by}${content}`)
}
