import type pg from 'pg'
import { allowanceOf, analyticsStreamNames, groupOfStream } from '../../config/allowance.ts'
import type { Config } from '../../config/config.ts'
import { RefusedRows } from '../../engine/ports.ts'
import { markRoom } from '../../postgres/backfill.ts'
import {
  askAgain,
  closeDeadLetters,
  deadLetterStanding,
  readDeadLetters,
  type StoredDeadLetter,
  storeDeadLetter,
} from '../../postgres/dead-letters.ts'
import { configuredStreams, streams } from '../../streams/index.ts'
import { windowStreamNames } from '../../streams/stream.ts'
import { analyticsSettings } from '../analytics-settings.ts'
import { deploymentOf, engineSettings } from '../engine-settings.ts'
import { type DeadLetterReaders, type DeadLetterStore, isOfRoom } from './dead-letters.ts'

/** The letters of some apps, or of one room of theirs. */
export function deadLetterStore(
  pool: pg.Pool,
  apps: readonly string[],
  room: string | undefined,
): DeadLetterStore {
  return {
    letters: () => readDeadLetters(pool, apps, room),
    keep: (letter, rows, hasPlace) =>
      storeDeadLetter(pool, letter, { rows, writes: writesOf(letter) }, hasPlace).catch(error => {
        if (error instanceof RefusedRows) return false
        throw error
      }),
    standing: (letter, available) => deadLetterStanding(pool, letter, available),
    askAgain: async (letter, available) => {
      const { app, stream, series } = letter
      if (isOfRoom(stream)) await markRoom(pool, { app, room: series, streams: [stream] })
      else await askAgain(pool, letter, available)
    },
    close: ids => closeDeadLetters(pool, ids),
  }
}

function writesOf({ stream }: StoredDeadLetter) {
  return Object.values(streams).find(({ name }) => name === stream)?.writes ?? []
}

/** How letters are read: as the daemon reads what they are about. */
export function deadLetterReaders(config: Config): DeadLetterReaders {
  const configured = new Map<string, ReturnType<typeof configuredStreams>[number]>(
    configuredStreams(deploymentOf(config)).map(stream => [stream.name, stream]),
  )
  const apps = new Map(config.apps.map(app => [app.id, app]))
  const { reading: toRows, roomMemory } = engineSettings(config)

  function series({ app, stream, series }: StoredDeadLetter) {
    const name = windowStreamNames.find(each => each === stream)
    const found = apps.get(app)
    const settings = name && found && analyticsSettings(config, found).windows[name]
    return settings?.series.find(({ key }) => key === series)
  }

  function ranges({ app, stream }: StoredDeadLetter): number {
    const name = analyticsStreamNames.find(each => each === stream)
    const found = apps.get(app)
    return ((name && found && allowanceOf(found, groupOfStream[name])?.availableData) ?? 0) * 1_000
  }

  return {
    stream: ({ stream }) => configured.get(stream),
    series,
    available: letter => ({ rooms: roomMemory, ranges: ranges(letter) }),
    settings: toRows,
  }
}
