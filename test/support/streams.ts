import { defaultParameterNames } from '../../src/provider/analytics/index.ts'
import { streams } from '../../src/streams/index.ts'
import { type Deployment, isOfRooms, type Stream } from '../../src/streams/stream.ts'

export type ShippedName = keyof typeof streams
type NamesOf<K extends Stream['kind']> = {
  [N in ShippedName]: (typeof streams)[N]['kind'] extends K ? N : never
}[ShippedName]

export const streamNames = Object.keys(streams) as readonly ShippedName[]
export const roomStreamNames = streamNames.filter(name => isOfRooms(streams[name]))
export const cursorStreamNames = namesOf('feed', 'log', 'snapshot')
export const windowStreamNames = namesOf('window')
export const substreamNames = namesOf('substream')

function namesOf<K extends Stream['kind']>(...kinds: readonly K[]): readonly NamesOf<K>[] {
  return streamNames.filter((name): name is NamesOf<K> => kinds.some(kind => kind === streams[name].kind))
}

/** A provider as the documents have it, of which nobody says anything. */
export const plainDeployment: Deployment = {
  widgetPath: 'without-region',
  words: defaultParameterNames,
  analyticsLimits: 'joint',
  playerLimits: 'joint',
  settingsOf: (_, { settings }) => settings.parse({}) as never,
}
