/** What Grafana puts into a query of the Postgres data source before it is sent. */
export interface Moment {
  /** Unix milliseconds */
  readonly from: number
  readonly to: number
  /** ms */
  readonly interval: number
}

export type Values = Readonly<Record<string, string | readonly string[]>>

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const

/** As Grafana writes a duration: the largest unit that divides it evenly. */
function writeInterval(milliseconds: number): string {
  const found = Object.entries(units).find(([, unit]) => milliseconds % unit === 0)
  return found ? `${milliseconds / found[1]}${found[0]}` : `${milliseconds}ms`
}

/** Seconds. */
function readInterval(text: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text.replaceAll("'", '')) ?? []
  if (!unit) throw new Error(`${text} is no interval`)
  return (Number(count) * units[unit as keyof typeof units]) / 1_000
}

/** A list stands for a variable of several values and is quoted; a single value is only escaped. */
export function putVariables(text: string, values: Values): string {
  return text.replaceAll(
    /\$\{(\w+)\}|\$(\w+)/g,
    (whole, braced: string | undefined, bare: string | undefined) => {
      const name = braced ?? bare!
      if (name.startsWith('__')) return whole
      const value = values[name]
      if (value === undefined) throw new Error(`there is no variable ${name}`)
      const safe = (one: string) => one.replaceAll("'", "''")
      return typeof value === 'string' ? safe(value) : value.map(one => `'${safe(one)}'`).join(',')
    },
  )
}

/** The macros of the Postgres data source: name, then what is in brackets up to the first that closes. */
export function putMacros(text: string, { from, to, interval }: Moment): string {
  const time = (at: number) => `'${new Date(at).toISOString()}'`
  const macros: Readonly<Record<string, (column: string, every: string) => string>> = {
    __timeFilter: column => `${column} BETWEEN ${time(from)} AND ${time(to)}`,
    __timeFrom: () => time(from),
    __timeTo: () => time(to),
    __timeGroup: (column, every) =>
      `floor(extract(epoch from ${column})/${readInterval(every)})*${readInterval(every)}`,
    __timeGroupAlias: (column, every) =>
      `floor(extract(epoch from ${column})/${readInterval(every)})*${readInterval(every)} AS "time"`,
  }
  const expanded = text
    .replaceAll('$__interval_ms', String(interval))
    .replaceAll('$__interval', writeInterval(interval))
    .replaceAll(/\$([_a-zA-Z0-9]+)\(([^)]*)\)/g, (_, name: string, list: string) => {
      const macro = macros[name]
      if (!macro) throw new Error(`there is no macro ${name}`)
      const [column = '', every = ''] = list.split(',').map(argument => argument.trim())
      if (!/^__time(From|To)$/.test(name) && !/^[\w.]+$/.test(column)) throw new Error(`${name} of ${column}`)
      return macro(column, every)
    })
  if (/\$\w/.test(expanded)) throw new Error(`left as it is: ${/\$\w+/.exec(expanded)?.[0]}`)
  return expanded
}

/** The interval that Grafana takes for a panel of about a thousand points, not shorter than the panel's own. */
export function intervalFor(range: number, least: number): number {
  const steps = [1, 2, 5, 10, 15, 20, 30].map(n => n * 1_000)
  const ladder = [
    ...steps,
    ...[1, 2, 5, 10, 15, 20, 30].map(n => n * units.m),
    ...[1, 2, 3, 6, 12].map(n => n * units.h),
    ...[1, 7, 30].map(n => n * units.d),
  ]
  const wanted = Math.max(range / 1_000, least)
  return ladder.find(step => step >= wanted) ?? units.d
}

/** Milliseconds of a duration such as 20s or now-24h without its now-. */
export function spanOf(text: string): number {
  return readInterval(text.replace(/^now-/, '')) * 1_000
}
