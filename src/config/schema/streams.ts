import { z } from 'zod'
import { mapValues, section } from '../../settings/leaf.ts'
import { oneOf } from '../../settings/values.ts'
import { layerOf } from '../../settings/walk.ts'
import type { Streams } from '../../streams/index.ts'

/** Settings by stream; what is left out stays as it is by default, or as the whole file says for an app. */
export function streamLayer(streams: Streams) {
  return section(
    mapValues(streams, ({ title, settings }) =>
      z
        .union([oneOf(['off']), layerOf(settings)])
        .optional()
        .describe(`${title}. "off" switches it off.`),
    ),
    { noun: 'stream' },
  )
}
