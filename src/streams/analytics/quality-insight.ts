import { z } from 'zod'
import {
  defaultSeriesWords,
  granularities,
  qualityInsight as operation,
  word,
} from '../../provider/analytics/index.ts'
import type { QualityInsightRow } from '../../rows/analytics.ts'
import { readData, readValues, wholeWindow } from '../series/values.ts'
import { askIn } from '../series/words.ts'
import type { WindowHarvest, WindowPage, WindowStream } from '../stream.ts'
import { arrivalTime } from '../times.ts'

/** Rates of success, freezing and delay of each product over time; restated about two days later. */
export const qualityInsight: WindowStream = {
  kind: 'window',
  name: 'quality-insight',
  title: 'Call quality of the project, by hour and day',
  operation,
  read: readData,
  request: askIn(defaultSeriesWords),
  harvest,
}

const Ask = z.object({ productType: word, metric: word, aggregateGranularity: z.enum(granularities) })

function harvest(page: WindowPage): WindowHarvest {
  const { productType: product, metric, aggregateGranularity: granularity } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const fetched_at = arrivalTime(page)
  const rows = read.values.map(({ at, value, extra }): QualityInsightRow => {
    return { product, metric, granularity, at, value, extra, fetched_at }
  })
  return wholeWindow({ 'analytics.quality_insight': rows }, read)
}
