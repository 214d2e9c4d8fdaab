import { Findings } from './asked.ts'
import type { Finding } from './examination.ts'
import type { Told } from './forgotten.ts'

/** Tables that a replay makes of raw rows. */
const lasting = /^classroom\.(?!room$)/
/** Letters of single items, which no version of today can read; those of whole answers close when these were read since. */
const ofItems = /"reason": "(?:not_an_object|missing_key|wrong_type|out_of_range|store_refused)"/

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

/** What comes again counts again. */
function idOf(letter: string): string {
  return /"id": \d+/.exec(letter)?.[0] ?? letter
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
    const now = after.get(table) ?? []
    if (table === 'ingest.dead_letter')
      for (const text of beyond(former.filter(letter => ofItems.test(letter)).map(idOf), now.map(idOf)))
        found.add('lost', `replayed ${table}`, text)
    if (!lasting.test(table)) continue
    for (const text of beyond(former, now)) found.add('lost', `replayed ${table}`, text.slice(0, 300))
    for (const text of beyond(now, former)) found.add('duplicate', `replayed ${table}`, text.slice(0, 300))
  }
  return found.list()
}
