import type { Clock } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'
import { createReading } from './reading.ts'

const maxAge = 2_000
const timeout = 1_000

export interface StatusOptions {
  readonly clock: Clock
  readonly log: Log
  /** What the process knows by itself, now. */
  readonly own: () => object
  /** What the database tells. */
  readonly read: () => Promise<object>
}

/**
 * The status for people and programs, however many ask: what the database told last, how old that is, and whether it
 * answers now. Rejects while it has never been read.
 */
export function createStatus({ clock, log, own, read }: StatusOptions): () => Promise<object> {
  const onFailure = (error: unknown) => log.warn('the status cannot be read', { error })
  const ask = createReading({ clock, read, maxAge, timeout, onFailure })
  return async () => {
    const { up, value, age } = await ask()
    if (!value) throw new Error('the database has not told its status yet')
    return { ...own(), databaseAnswers: up, readSecondsAgo: Math.floor(age / 1_000), ...value }
  }
}

/**
 * The status as a page for people: the same object that /status gives as JSON. Fields become lines, lists of
 * objects become tables, objects become sections. It loads nothing from anywhere and runs no script.
 */
export function statusPage(status: object): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<meta name="color-scheme" content="light dark">
<title>Penstock status</title>
<style>${style}</style>
</head>
<body>
<header><h1>Penstock</h1><nav aria-label="Endpoints">${links}</nav></header>
<main>
${section(status, 2)}
</main>
<footer>Reads itself again every five seconds. All times are UTC.</footer>
</body>
</html>
`
}

const style = `
:root{--ink:#1b2733;--soft:#5b6b7a;--line:#d8e0e7;--paper:#f6f8fa;--card:#fff;--flow:#0b6e8f}
@media (prefers-color-scheme:dark){:root{--ink:#e3eaf0;--soft:#9aabb9;--line:#2f3d49;--paper:#11181e;--card:#18222a;--flow:#5cc3e4}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:70rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:baseline;border-bottom:3px solid var(--flow);margin-bottom:1.5rem}
h1{margin:0;font-size:1.6rem}
h2,h3,h4{margin:1.75rem 0 .5rem;font-size:1.1rem}
a{color:var(--flow);margin-right:1rem}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.75rem;margin:0}
dl>div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-size:1.1rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.5rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .8rem;text-align:left;white-space:nowrap}
thead th{color:var(--soft);font-weight:600;font-size:.85rem}
tbody tr{border-top:1px solid var(--line)}
.n{text-align:right}
.none,footer{color:var(--soft)}
footer{margin-top:2rem;font-size:.85rem}
`

const links = ['/status', '/metrics', '/healthz', '/readyz']
  .map(path => `<a href="${path}">${path.slice(1)}</a>`)
  .join('')

/** Beyond this many rows a table is for SQL, not for a page. */
const mostRows = 200
const deepestHeading = 4

type Row = Readonly<Record<string, unknown>>

function section(value: object, level: number): string {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  const lines = entries.filter(([, one]) => !isObject(one))
  const parts = entries.filter((entry): entry is [string, object] => isObject(entry[1]))
  return [
    lines.length > 0 ? `<dl>${lines.map(([name, one]) => line(name, one)).join('')}</dl>` : '',
    ...parts.map(([name, one]) => part(name, one, level)),
  ].join('\n')
}

function part(name: string, value: object, level: number): string {
  const title = escapeHtml(words(name))
  const heading = `<h${level}>${title}</h${level}>`
  if (!Array.isArray(value)) {
    return `<section>${heading}${section(value, Math.min(level + 1, deepestHeading))}</section>`
  }
  if (value.length === 0) return `<section>${heading}<p class="none">none</p></section>`
  const rows = value.slice(0, mostRows).map((one): Row => (isRow(one) ? one : { [name]: one }))
  const more = value.length > mostRows ? `<p class="none">and ${value.length - mostRows} more</p>` : ''
  return `<section>${heading}${table(rows, title)}${more}</section>`
}

function table(rows: readonly Row[], title: string): string {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const numeric = new Set(columns.filter(column => rows.every(row => isNumber(row[column]))))
  const mark = (column: string) => (numeric.has(column) ? ' class="n"' : '')
  const head = columns.map(c => `<th scope="col"${mark(c)}>${escapeHtml(words(c))}</th>`).join('')
  const body = rows.map(row => `<tr>${columns.map(c => `<td${mark(c)}>${cell(row[c])}</td>`).join('')}</tr>`)
  const content = `<table aria-label="${title}"><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`
  return `<div class="wide" role="region" aria-label="${title}" tabindex="0">${content}</div>`
}

function line(name: string, value: unknown): string {
  return `<div><dt>${escapeHtml(words(name))}</dt><dd>${cell(value)}</dd></div>`
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '<span class="none">none</span>'
  if (typeof value === 'number' || typeof value === 'bigint') return escapeHtml(value.toLocaleString('en'))
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return escapeHtml(isObject(value) ? toJson(value) : String(value))
}

/** `lagSeconds` and `lag_seconds` both read "Lag seconds". */
function words(name: string): string {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/_/g, ' ')
  return spaced.charAt(0).toUpperCase() + spaced.slice(1).toLowerCase()
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isRow(value: unknown): value is Row {
  return isObject(value) && !Array.isArray(value)
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || value === null || value === undefined
}

/** Indented JSON for people and programs; an integer above 2^53 becomes a string, which every reader keeps whole. */
export function toJson(value: object): string {
  return JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one), 2)
}
