/** What a config brings into the tables of call analytics: the input of the reckoning. */
export interface StorageFacts {
  readonly calls?: MeasuredCalls
  /** Values a day by table, of streams that bring a row a value. */
  readonly values: Readonly<Record<string, number>>
  /** For how many days tables are kept; one that is not named is kept for ever. */
  readonly keptDays: Readonly<Record<string, number>>
}

interface MeasuredCalls {
  readonly perDay: number
  readonly users: number
  readonly minutes: number
  /** How many of them have their metrics fetched. */
  readonly measured: number
  /** Metrics that are stored of each stay. */
  readonly metrics: number
}

/** What comes into a table, and what lies there once as much goes as comes. */
export interface StoredTable {
  readonly table: string
  readonly rowsPerDay: number
  readonly bytesPerDay: number
  /** Null: for ever. */
  readonly keptDays: number | null
  /** Null where it grows for ever. */
  readonly bytesKept: number | null
}

/** Bytes of a row with its indexes; `npm run bench -- reads` measures them. */
const rowBytes = {
  call: 330,
  call_session: 350,
  session_summary: 290,
  session_digest: 1_750,
  call_summary: 640,
  call_minute: 260,
} as const

/** The same of a row that is a value, of real time or an insight: between 190 and 230. */
const valueRowBytes = 210

/** A value every two seconds, as `npm run bench -- samples` measures it, and what else its series takes. */
const valueEvery = 2
const valueBytes = 2.2
const seriesBytes = 300

/** Reckons with one remote user for each metric; what is not of call analytics depends on what happens in classes. */
export function forecastStorage({ calls, values, keptDays }: StorageFacts): readonly StoredTable[] {
  const plain = Object.entries(values).map(([table, rows]) => [table, rows, rows * valueRowBytes] as const)
  return [...(calls ? ofCalls(calls) : []), ...plain].map(([table, rowsPerDay, bytesPerDay]) => {
    const days = keptDays[table] ?? null
    const bytesKept = days === null ? null : bytesPerDay * days
    return { table, rowsPerDay, bytesPerDay, keptDays: days, bytesKept }
  })
}

function ofCalls({ perDay, users, minutes, measured, metrics }: MeasuredCalls) {
  const stays = measured * users
  const rows = {
    ...{ call: perDay, call_session: perDay * users, call_summary: perDay },
    ...(metrics > 0 && { session_summary: stays, session_digest: stays, call_minute: measured * minutes }),
  }
  const series = stays * metrics
  const bytes = series * (seriesBytes + (valueBytes * minutes * 60) / valueEvery)
  const measuredRows: (readonly [string, number, number])[] =
    metrics > 0 ? [['session_series', series, bytes]] : []
  return [
    ...Object.entries(rows).map(
      ([table, count]) => [table, count, count * rowBytes[table as keyof typeof rowBytes]] as const,
    ),
    ...measuredRows,
  ]
}
