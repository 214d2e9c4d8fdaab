import { z } from 'zod'
import {
  defaultParameterNames,
  granularities,
  qualityInsight as operation,
  word,
} from '../../provider/analytics/index.ts'
import type { QualityInsightRow } from '../../tables/analytics.ts'
import { qualityInsight as table } from '../../tables/analytics.ts'
import { askIn } from '../series/parameter-names.ts'
import { readData, readValues, wholeWindow } from '../series/values.ts'
import type { WindowPage, WindowResult, WindowStream } from '../stream.ts'
import { arrivalTime } from '../times.ts'

/** Rates of success, freezing and delay of each product over time; restated about two days later. */
export const qualityInsight: WindowStream = {
  kind: 'window',
  name: 'quality-insight',
  title: 'Call quality of the project, by hour and day',
  operation,
  writes: [table],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
}

const Ask = z.object({ productType: word, metric: word, aggregateGranularity: z.enum(granularities) })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, aggregateGranularity: granularity } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const fetched_at = arrivalTime(page)
  const rows = read.values.map(({ at, value, extra }): QualityInsightRow => {
    return { product, metric, granularity, at, value, extra, fetched_at }
  })
  return wholeWindow({ 'analytics.quality_insight': rows }, read)
}
