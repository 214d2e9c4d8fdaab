import { html } from 'ghtml'
import type { Timeline } from '../../engine/ports.ts'
import type { Status } from '../status.ts'

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
