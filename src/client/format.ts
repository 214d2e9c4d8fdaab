import type { Trace } from '../provider/errors.ts'

/** The IDs by which the provider finds a request, in brackets; empty where nothing was sent. */
export function formatTrace(trace: Trace | undefined): string {
  if (!trace) return ''
  const { requestId, answeredId, resourceId } = trace
  const parts = [
    `request ${requestId}`,
    ...(answeredId ? [`answered as ${answeredId}`] : []),
    ...(resourceId ? [`resource ${resourceId}`] : []),
  ]
  return ` (${parts.join(', ')})`
}
