import { Findings, say } from './asked.ts'
import type { Examination, Finding } from './examination.ts'
import { isSurelyStored } from './insights.ts'
import { isStrange, promisedSeries, type Series, timesIn, trueValue } from './promised.ts'

interface Letter {
  readonly key: string
  readonly body: string
}

/**
 * What an answer about insights or real time told in a shape that nobody can read is set aside as it came, and nothing else is.
 * What the others of the answer told is judged as ever.
 */
export async function examineStrangeEntries(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, rows, isCalm } = examination
  if (sandbox.settings.quirks.strangeEntry === 0) return []
  const found = new Findings()
  const letters = Map.groupBy(
    await rows<Letter>(
      `select app_id || ' ' || stream || ' ' || series as key, convert_from(body, 'UTF8') as body
       from ingest.dead_letter where stream ~ '^(usage|quality)-insight$|^realtime-'`,
    ),
    ({ key }) => key,
  )
  for (const series of promisedSeries(examination)) {
    const key = `${series.app} ${series.stream} ${series.key}`
    const own = (letters.get(key) ?? []).map(({ body }) => JSON.parse(body) as Strange)
    letters.delete(key)
    const told = strangeIn(examination, series)
    const kept = new Set<number>()
    for (const letter of own) {
      const at = timeOf(letter)
      kept.add(at)
      if (!isRight(examination, series, letter, told.get(at) ?? []))
        found.add('different', `dead letters of ${key}`, `${JSON.stringify(letter)} was in no answer`)
    }
    if (!isCalm) continue
    for (const [at, asked] of told)
      if (!kept.has(at) && asked.some(each => each.isOwn && isSurelyStored(examination, each)))
        found.add('lost', `dead letters of ${key}`, `what was told of ${say(at)}`)
  }
  for (const key of letters.keys()) found.add('different', 'dead letters', `of nothing that is asked: ${key}`)
  return found.list()
}

type Strange = Readonly<Record<string, unknown>>

/** When the entry of a time was told so, and in which words it was asked. `isOwn`: by the question that it is owed to. */
function strangeIn({ sandbox }: Examination, series: Series) {
  const truth = sandbox.analytics(series.app)
  const told = new Map<number, { readonly time: number; readonly isOwn: boolean }[]>()
  for (const asked of series.asked) {
    const owed = timesIn(series, asked)
    for (const at of new Set([...owed, (owed.at(-1) ?? asked.from - series.step) + series.step])) {
      if (!isStrange(truth, series, at, asked)) continue
      const known = told.get(at) ?? []
      told.set(at, known)
      known.push({ time: asked.time, isOwn: owed.includes(at) })
    }
  }
  return told
}

/** Of which time a strange entry is, Unix seconds. */
function timeOf({ ts, since }: Strange): number {
  if (typeof ts === 'string') return Number(/^at (\d+)$/.exec(ts)?.[1])
  return Number(ts ?? since)
}

/** The name of its metric and, where its value can be read, the value that it had then. */
function isRight(
  { sandbox }: Examination,
  series: Series,
  letter: Strange,
  told: readonly { readonly time: number }[],
): boolean {
  const value = letter[series.metric]
  if (told.length === 0 || value === undefined) return false
  if (typeof value !== 'number') return value === 'n/a' || JSON.stringify(value) === '{}'
  const truth = sandbox.analytics(series.app)
  const at = timeOf(letter)
  return told.some(
    ({ time }) => trueValue(truth, series, at, { time } as (typeof series.asked)[number]) === value,
  )
}
