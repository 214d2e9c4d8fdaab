import type { StreamName } from '../streams/stream.ts'
import type { PageContext } from './context.ts'
import type { CommitResult } from './ports.ts'
import type { TaskResult } from './task.ts'

/** Every stream is measured alike, from what the engine sees anyway. */
export function measure(
  { app, meter }: PageContext,
  stream: StreamName,
  isEmpty: boolean,
  { rows, ignored = 0 }: TaskResult,
  stored: CommitResult,
): void {
  const labels = { app: app.id, stream }
  if (stored.outcome !== 'committed') {
    meter.page(labels, stored.outcome)
    return
  }
  meter.page(labels, isEmpty ? 'empty' : 'committed')
  meter.rows(stored.stored)
  if (stored.diverged > 0) meter.divergences(labels, stored.diverged)
  for (const [reason, letters] of Object.entries(stored.deadLetters))
    meter.deadLetters(labels, reason, letters)
  if (ignored > 0) meter.ignored(labels, ignored)
  const quality = rows['analytics.quality_realtime']
  if (quality) meter.quality(app.id, quality)
}
