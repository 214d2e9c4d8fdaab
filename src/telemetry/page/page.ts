import { createHash } from 'node:crypto'
import { html } from 'ghtml'
import type { Clock } from '../../clock/clock.ts'
import type { Log, Timeline } from '../../engine/ports.ts'
import type { Answer } from '../listener.ts'
import { createReading } from '../reading.ts'
import type { Status } from '../status.ts'
import type { VerdictState } from '../verdict.ts'
import { duration, moment } from '../wording.ts'
import { script, style } from './assets.ts'
import {
  appsOf,
  budgetPart,
  type Choice,
  gapPart,
  letterPart,
  ownerPart,
  type PageFacts,
  part,
  roomPart,
  type StreamTitle,
  spans,
} from './parts.ts'
import { streamPart } from './streams.ts'

interface PageOptions {
  readonly clock: Clock
  readonly log: Log
  readonly status: () => Promise<Status>
  readonly readTimelines: () => Promise<readonly Timeline[]>
  /** In the order in which documents name them. */
  readonly streams: readonly StreamTitle[]
}

/** How long ribbons serve that were read once, ms: they take longer to read than the rest. */
const timelinesServe = 10_000
const timeout = 1_000

/** The page for people, of what is known at the moment; it never waits long for the database. */
export function createPage({ clock, log, status, readTimelines, streams }: PageOptions) {
  const onFailure = (error: unknown) => log.debug('the ribbons of the page cannot be read', { error })
  const ask = createReading({ clock, read: readTimelines, maxAge: timelinesServe, timeout, onFailure })
  return async (query: URLSearchParams): Promise<Answer> => {
    const [now, { value: timelines = [] }] = await Promise.all([status(), ask()])
    const span = Object.keys(spans).find(each => each === query.get('span')) as Choice['span']
    const app = query.get('app') || undefined
    const body = pageText({ status: now, timelines, streams, app, span })
    return {
      status: 200,
      type: 'text/html; charset=utf-8',
      body,
      headers: { 'content-security-policy': policy },
    }
  }
}

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Nothing runs and nothing is shown but what stands in this program; the page asks nobody but its own daemon. */
const policy = [
  ...["default-src 'none'", `style-src ${digest(style)}`, `script-src ${digest(script)}`],
  ...["connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
].join('; ')

const stateTexts: Readonly<Record<VerdictState, { readonly word: string; readonly sign: string }>> = {
  well: { word: 'Well', sign: '✓' },
  starting: { word: 'Starting', sign: '…' },
  behind: { word: 'Behind', sign: '▲' },
  losing: { word: 'Losing data', sign: '✕' },
  stopped: { word: 'Stopped', sign: '■' },
}

/** The whole page. */
export function pageText(facts: PageFacts): string {
  const { status } = facts
  const { word } = stateTexts[status.verdict.state]
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<noscript><meta http-equiv="refresh" content="5"></noscript>
<title>${word} - Penstock</title>
<style>!${style}</style>
</head>
<body>
<a class="skip" href="#main">To the verdict</a>
<header><h1>Penstock</h1><nav aria-label="Endpoints">!${links}</nav></header>
<main id="main">
!${verdictPart(status)}
<p class="lone" role="alert">This daemon does not answer any more. What stands here is the last that it said.</p>
!${agePart(status)}
!${choiceForm(facts)}
!${streamPart(facts)}
!${budgetPart(facts)}
!${gapPart(facts)}
!${letterPart(facts)}
!${roomPart(facts)}
!${ownerPart(facts)}
</main>
<footer>!${part('footer', html`Penstock ${status.version}. All times are UTC. Brings itself up to date every five seconds.`)}</footer>
<script>!${script}</script>
</body>
</html>
`
}

const links = [
  ['/status', 'this as JSON'],
  ['/metrics', 'metrics'],
  ['/readyz', 'readiness'],
]
  .map(([path, text]) => html`<a href="${path}">${text}</a>`)
  .join('')

function verdictPart({ verdict, at }: Status): string {
  const { state, sentence, since } = verdict
  const { word, sign } = stateTexts[state]
  return html`<section role="status" aria-label="Verdict" data-part="verdict" class="verdict ${state}">
<strong class="word"><span aria-hidden="true">${sign}</span> ${word}</strong>
<p class="why">${sentence}</p>
<p class="since">Since ${moment(since, at)}</p>
</section>`
}

/** Older than this, seconds, figures of the database are said to be old. */
const fresh = 10

/** Whether what follows is from memory. */
function agePart({ readSecondsAgo }: Status): string {
  if (readSecondsAgo !== null && readSecondsAgo <= fresh) return part('age', '', 'old')
  const age =
    readSecondsAgo === null
      ? 'The database has told nothing yet: what stands here is what this process sees by itself.'
      : `The database does not tell how it stands: gaps, rooms and backlog are as it told them ${duration(readSecondsAgo)} ago.`
  return part('age', html`<p>${age}</p>`, 'old shown')
}

/** Beyond this many apps one is typed, not chosen from a list. */
const mostChoices = 50

function choiceForm(facts: PageFacts): string {
  const { app, span } = facts
  const apps = appsOf(facts)
  const option = (value: string, text: string, chosen: boolean) =>
    html`<option value="${value}"!${chosen ? ' selected' : ''}>${text}</option>`
  const all = `all ${apps.length} apps`
  const chooser =
    apps.length <= mostChoices
      ? html`<select name="app">!${option('', all, !app)}!${apps.map(id => option(id, id, id === app)).join('')}</select>`
      : html`<input name="app" value="${app ?? ''}" placeholder="${all}" autocomplete="off">`
  const times = Object.entries(spans).map(([name, { text }]) => option(name, text, name === span))
  return html`<form method="get" action="/" role="search" aria-label="What is shown">
!${apps.length > 1 ? html`<label>App !${chooser}</label>` : ''}
<label>Time <select name="span">!${option('', 'automatic', !span)}!${times.join('')}</select></label>
<button>Show</button></form>
!${app && !apps.includes(app) ? html`<p role="alert">There is no app ${app} here.</p>` : ''}`
}
