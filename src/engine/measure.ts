import type { Page } from '../streams/stream.ts'
import type { PollContext } from './context.ts'
import type { CommitResult } from './ports.ts'

/** Every stream is measured alike, from what the engine sees anyway. */
export function measure({ app, stream, meter }: PollContext, page: Page, stored: CommitResult): void {
  const labels = { app: app.id, stream: stream.name }
  if (stored.outcome !== 'committed') {
    meter.page(labels, stored.outcome)
    return
  }
  meter.page(labels, page.items.length > 0 ? 'committed' : 'empty')
  meter.rows(stored.stored)
  if (stored.diverged > 0) meter.divergences(labels, stored.diverged)
  for (const [reason, letters] of Object.entries(stored.setAside)) meter.deadLetters(labels, reason, letters)
}
