import { z } from 'zod'
import { defaultParameterNames, realtimeQuality as operation, word } from '../../provider/analytics/index.ts'
import type { QualityRealtimeRow } from '../../tables/analytics.ts'
import { qualityRealtime } from '../../tables/analytics.ts'
import { askIn } from '../series/parameter-names.ts'
import { readUserValues } from '../series/user-values.ts'
import { readData, wholeWindow } from '../series/values.ts'
import type { WindowPage, WindowResult, WindowStream } from '../stream.ts'

/** Call quality in windows of 20 seconds, of the project, of a channel, or of users in it. */
export const realtimeQuality: WindowStream = {
  kind: 'window',
  name: 'realtime-quality',
  title: 'Call quality in windows of 20 seconds',
  operation,
  writes: [qualityRealtime],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
}

const Ask = z.object({ productType: word, metric: word, cname: z.string().default('') })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, cname } = Ask.parse(page.series.ask)
  const read = readUserValues(page, metric)
  const rows = read.values.map(({ uid, at, value, extra }): QualityRealtimeRow => {
    return { product, metric, cname, uid, at, value, extra }
  })
  return wholeWindow({ 'analytics.quality_realtime': rows }, read)
}
