import { z } from 'zod'
import { lastSecond } from '../fits.ts'

/** Largest values of the document's table of parameters. */
export const maxima = { pageSize: 100, uids: 10, sids: 20 } as const

/** Unix time in whole seconds, UTC. */
const unixSeconds = z
  .int('must be whole seconds')
  .min(0, 'must not be before 1970')
  .max(lastSecond, 'must be seconds, not milliseconds')

export const appid = z.string().min(1, 'must not be empty').describe('App ID of the project')

/** A channel name has 64 bytes at most, as the document of the players says; its characters are not checked. */
export const channel = z
  .string()
  .min(1, 'must not be empty')
  .refine(name => Buffer.byteLength(name) <= 64, 'must not be longer than 64 bytes in UTF-8')

/** The range of the call endpoints. */
export const callRange = {
  start_ts: unixSeconds.describe('Begin of the range, Unix seconds; of details, begin of the call'),
  end_ts: unixSeconds.describe('End of the range, Unix seconds; of details, end of the call'),
} as const

/** The same of insights and real-time values. */
export const seriesRange = {
  startTs: unixSeconds.describe('Begin of the range, Unix seconds'),
  endTs: unixSeconds.describe('End of the range, Unix seconds'),
} as const

export const paging = {
  page_no: z
    .int('must be an integer')
    .min(1, 'must be 1 or more')
    .optional()
    .describe('Page, from 1; to go from page to page give page_size too'),
  page_size: z
    .int('must be an integer')
    .min(1, 'must be 1 or more')
    .max(maxima.pageSize, `must be at most ${maxima.pageSize}`)
    .optional()
    .describe(`Entries on one page, 1 to ${maxima.pageSize}; 20 unless told`),
} as const

/** A comma-separated list of at most `most` items, each without a comma. */
export function listOf(most: number) {
  return z.string().refine(text => {
    const items = text.split(',')
    return items.length <= most && items.every(item => item !== '')
  }, `must be a comma-separated list of 1 to ${most} items`)
}

/**
 * Names and words that the document leaves open, as services of this kind are known to have them. Operators may
 * set others.
 */
export interface ParameterNames {
  readonly parameters: Readonly<Record<SeriesParameter, string>>
  readonly granularities: Readonly<Record<Granularity, string>>
}

/** Parameters of the insight and real-time endpoints by the names that Penstock uses. */
export const seriesParameters = [
  'startTs',
  'endTs',
  'appid',
  'metric',
  'aggregateGranularity',
  'productType',
  'cname',
  'uids',
] as const
export type SeriesParameter = (typeof seriesParameters)[number]

export const granularities = ['minute', 'hour', 'day'] as const
export type Granularity = (typeof granularities)[number]

/** Seconds that one value of an insight stands for. */
export const granularitySeconds: Readonly<Record<Granularity, number>> = {
  minute: 60,
  hour: 3_600,
  day: 86_400,
}

export const defaultParameterNames: ParameterNames = {
  parameters: Object.fromEntries(seriesParameters.map(name => [name, name])) as Record<
    SeriesParameter,
    string
  >,
  granularities: { minute: '1m', hour: '1h', day: '1d' },
}

/** Products that services of this kind are known to have. */
export const knownProducts = ['Native', 'WebRTC'] as const

export const word = z.string().min(1, 'must not be empty')
