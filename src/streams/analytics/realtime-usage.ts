import { z } from 'zod'
import { defaultSeriesWords, realtimeUsage as operation, word } from '../../provider/analytics/index.ts'
import type { UsageRealtimeRow } from '../../rows/analytics.ts'
import { readData, readValues, wholeWindow } from '../series/values.ts'
import { askIn } from '../series/words.ts'
import type { WindowHarvest, WindowPage, WindowStream } from '../stream.ts'

/** Numbers of users and channels in windows of 20 seconds, of the project or of a channel. */
export const realtimeUsage: WindowStream = {
  kind: 'window',
  name: 'realtime-usage',
  title: 'Usage in windows of 20 seconds',
  operation,
  read: readData,
  request: askIn(defaultSeriesWords),
  harvest,
}

const Ask = z.object({ productType: word, metric: word, cname: z.string().default('') })

function harvest(page: WindowPage): WindowHarvest {
  const { productType: product, metric, cname } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const rows = read.values.map(
    ({ at, value, extra }): UsageRealtimeRow => ({ product, metric, cname, at, value, extra }),
  )
  return wholeWindow({ 'analytics.usage_realtime': rows }, read)
}
