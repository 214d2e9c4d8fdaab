import {
  analyticsLimitReadings,
  defaultParameterNames,
  type Granularity,
  granularities,
  type SeriesParameter,
  seriesParameters,
} from '../../provider/analytics/index.ts'
import { section } from '../../settings/leaf.ts'
import { oneOf, text } from '../../settings/values.ts'
import { service } from './service.ts'
import { baseUrl } from './values.ts'

const { parameters: names, granularities: words } = defaultParameterNames

/** What each parameter says, as people read it. */
const parameterMeanings: Readonly<Record<SeriesParameter, string>> = {
  startTs: 'the start of the time frame',
  endTs: 'the end of the time frame',
  appid: 'the App ID',
  metric: 'the metric',
  aggregateGranularity: 'the granularity',
  productType: 'the product',
  cname: 'the channel name',
  uids: 'the user IDs',
}

function parameter(name: SeriesParameter) {
  return text('the name of a parameter: letters, digits and _', /^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
    .prefault(names[name])
    .describe(`Parameter of insights and real-time metrics that carries ${parameterMeanings[name]}.`)
}

function granularityWord(granularity: Granularity) {
  return text('a word: letters, digits, "_", "." or "-"', /^[A-Za-z0-9_.-]{1,64}$/)
    .prefault(words[granularity])
    .describe(`Word of the provider for values by ${granularity}.`)
}

function each<K extends string, S>(keys: readonly K[], make: (key: K) => S) {
  return Object.fromEntries(keys.map(key => [key, make(key)])) as Record<K, S>
}

export const analyticsService = section({
  url: baseUrl().describe('Address of the call analytics service.'),
  ...service({ bodyBytes: '16777216', tooLong: ', and less is asked for at once', travels: 'credentials' }),
  counters: oneOf(['credential', 'app'])
    .prefault('credential')
    .describe(
      'Whose requests the provider counts together: those of all apps with one REST key, or those of each app. The documents do not say; credential is the stricter reading, in which apps of different plans on one key keep the strictest rates of them together.',
    ),
  limits: oneOf(analyticsLimitReadings)
    .prefault('joint')
    .describe(
      'Whether sessions and metrics of calls, and likewise the two real-time endpoints, share a counter, which the documents leave open. joint is the stricter reading; split: each endpoint has the numbers of its table for itself. The counters that come with split begin empty.',
    ),
  parameters: section(each(seriesParameters, parameter))
    .prefault({})
    .describe('Names of the parameters of insights and real-time metrics, which the documents do not show.'),
  granularities: section(each(granularities, granularityWord))
    .prefault({})
    .describe('Words for the granularities of insights, which the documents do not show.'),
})
