import type { Examination } from './examination.ts'

/** So many calls are read at once: one question for each would cost more than what it answers. */
const together = 40

/** Goes through calls in groups of which everything is read together. */
export function inGroups<Call>(calls: readonly Call[]): readonly (readonly Call[])[] {
  return Array.from({ length: Math.ceil(calls.length / together) }, (_, n) =>
    calls.slice(n * together, (n + 1) * together),
  )
}

/** Rows that name their call as `call_id`, call by call. */
export async function byCall<Row>(
  { rows }: Pick<Examination, 'rows'>,
  sql: string,
): Promise<(callId: string) => readonly Row[]> {
  const all = Map.groupBy(await rows<Row & { readonly call_id: string }>(sql), ({ call_id }) => call_id)
  return callId => all.get(callId) ?? []
}

/** The condition for calls of an app. */
export function areOf(app: string, calls: readonly string[]): string {
  return `where app_id = '${app}' and call_id in (${calls.map(id => `'${id}'`).join(', ')})`
}
