import {
  type ParameterNames,
  type SeriesParameter,
  withParameterNames,
} from '../../provider/analytics/index.ts'
import type { WindowStream } from '../stream.ts'

/** Asks for a series in the words of a deployment: its names of parameters and of granularities. */
export function askIn({ parameters, granularities }: ParameterNames): WindowStream['request'] {
  const wordOf = (name: string, value: string) => {
    if (name !== 'aggregateGranularity' || !Object.hasOwn(granularities, value)) return value
    return granularities[value as keyof typeof granularities]
  }
  return (app, { ask }, { start, end }) => ({
    [parameters.startTs]: start,
    [parameters.endTs]: end,
    [parameters.appid]: app,
    ...Object.fromEntries(
      Object.entries(ask).map(([name, value]) => [parameters[name as SeriesParameter], wordOf(name, value)]),
    ),
  })
}

/** A stream of insights or real-time values as a deployment wants it asked. */
export function format(stream: WindowStream, words: ParameterNames): WindowStream {
  return { ...stream, operation: withParameterNames(stream.operation, words), request: askIn(words) }
}
