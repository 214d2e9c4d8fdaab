import type { z } from 'zod'
import type { RangeLimits } from '../planning/windows.ts'
import { maxima, realtimeQuality as operation, qualityMetrics } from '../provider/analytics/index.ts'
import { listOf } from '../settings/leaf.ts'
import { oneOf, text } from '../settings/values.ts'
import { qualityRealtime } from '../tables/analytics.ts'
import type { WindowSeries } from './page.ts'
import { pacedSection } from './parts/cadence.ts'
import { pieces } from './parts/items.ts'
import {
  channels,
  distinct,
  followRealtime,
  metrics,
  products,
  questionsOf,
  realtime,
  realtimeMistakes,
  realtimeSeries,
  realtimeTimes,
  valueStream,
} from './series/series.ts'
import type { Mistake } from './stream.ts'

const settings = pacedSection({
  ...realtimeTimes(),
  products: products(),
  metrics: metrics(qualityMetrics),
  channels: channels(),
  uids: listOf(
    text('a user ID, without spaces and commas', /^[^\s,]{1,64}$/, { type: ['string', 'number'] }),
    { unique: true },
  )
    .prefault([])
    .describe(`Users whose own values are asked for, up to ${maxima.uids} in a request.`),
  usersOf: oneOf(['channels', 'project'])
    .prefault('channels')
    .describe(
      'Whether those users are asked for in each of the channels, or in the whole project, which a provider may refuse.',
    ),
})
type Settings = z.output<typeof settings>

/** Call quality in windows of 20 seconds, of the project, of a channel, or of users in it. */
export const realtimeQuality = valueStream({
  tellsQuality: true,
  namesUsers: true,
  name: 'realtime-quality',
  title: 'Call quality in windows of 20 seconds',
  operation,
  table: qualityRealtime,
  settings,
  follows: (settings: Settings) =>
    followRealtime(settings, (said, channels) => seriesOf({ ...said, channels })),
  mistakes,
})

/** Those of real-time usage, and of the users by themselves, as many in one question as it takes. */
function seriesOf(
  settings: Omit<Settings, 'channels'> & { readonly channels: readonly string[] },
): readonly WindowSeries[] {
  const batches = pieces([...new Set(settings.uids)].toSorted(), maxima.uids).map(some => some.join())
  const places = settings.usersOf === 'project' ? [''] : settings.channels
  return distinct([
    ...realtimeSeries(settings),
    ...questionsOf(settings).flatMap(({ path, ask }) =>
      places.flatMap(cname =>
        batches.map(uids => realtime([...path, cname, uids], { ...ask, ...(cname && { cname }), uids })),
      ),
    ),
  ])
}

function mistakes(settings: Settings, allowed: RangeLimits | undefined): readonly Mistake[] {
  const { uids, usersOf, channels } = settings
  const isAsked = uids.length === 0 || usersOf === 'project' || channels === 'live' || channels.length > 0
  const text =
    'are asked for in each channel, and there is none; give channels beside it, or usersOf: project'
  return [...realtimeMistakes(settings, allowed), ...(isAsked ? [] : [{ settings: ['uids'], text }])]
}
