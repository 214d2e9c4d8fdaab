import { Findings } from './asked.ts'
import type { Finding } from './examination.ts'
import type { Told } from './forgotten.ts'

/** Tables that a replay makes of raw rows, and the bytes that no version of today can read. */
const lasting = /^classroom\.(?!room$)|^ingest\.dead_letter$/

/** Rows of a table that are in the first and not in the second. */
function beyond(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>()
  for (const text of others) left.set(text, (left.get(text) ?? 0) + 1)
  return some.filter(text => {
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    return count <= 0
  })
}

/**
 * A replay of what was stored by this very program finds nothing to mend, and of what somebody spoilt it makes what was
 * before; what it cannot read it leaves as it is.
 */
export function examineReplayed(before: Told, after: Told, differences: number): readonly Finding[] {
  const found = new Findings()
  if (differences > 0)
    found.add('different', 'a replay', `${differences} rows are said not to be what the raw rows say`)
  for (const [table, former] of before) {
    if (!lasting.test(table)) continue
    const now = after.get(table) ?? []
    for (const text of beyond(former, now)) found.add('lost', `replayed ${table}`, text.slice(0, 300))
    for (const text of beyond(now, former)) found.add('duplicate', `replayed ${table}`, text.slice(0, 300))
  }
  return found.list()
}
