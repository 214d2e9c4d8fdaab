import { z } from 'zod'
import { defaultParameterNames, realtimeUsage as operation, word } from '../../provider/analytics/index.ts'
import type { UsageRealtimeRow } from '../../tables/analytics.ts'
import { usageRealtime } from '../../tables/analytics.ts'
import { askIn } from '../series/parameter-names.ts'
import { readData, readValues, wholeWindow } from '../series/values.ts'
import type { WindowPage, WindowResult, WindowStream } from '../stream.ts'

/** Numbers of users and channels in windows of 20 seconds, of the project or of a channel. */
export const realtimeUsage: WindowStream = {
  kind: 'window',
  name: 'realtime-usage',
  title: 'Usage in windows of 20 seconds',
  operation,
  writes: [usageRealtime],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
}

const Ask = z.object({ productType: word, metric: word, cname: z.string().default('') })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, cname } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const rows = read.values.map(
    ({ at, value, extra }): UsageRealtimeRow => ({ product, metric, cname, at, value, extra }),
  )
  return wholeWindow({ 'analytics.usage_realtime': rows }, read)
}
