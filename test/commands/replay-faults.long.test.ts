import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { engineSettings } from '../../src/commands/engine-settings.ts'
import { rebuildWith } from '../../src/commands/replay/rebuild.ts'
import { replayRooms } from '../../src/commands/replay/rooms.ts'
import { readConfig } from '../../src/config/load.ts'
import { connect } from '../../src/postgres/connect.ts'
import { openReplay } from '../../src/postgres/replay.ts'
import { streams } from '../../src/streams/index.ts'
import { runSimulation } from '../simulation/run.ts'
import { defaultConnection } from '../support/connection.ts'
import { cloneDatabase } from '../support/postgres.ts'

/** Rooms used again and a consuming feed; a sliding one with refused tails, whose rooms rest on estimates. */
const seeds = [6, 18]

it.each(seeds)(
  'daemons that are killed and cut off leave nothing that a replay would change, with seed %i',
  async seed => {
    const database = await cloneDatabase()
    const kept = { url: database.url, drop: async () => {} }
    const pool = connect({ ...defaultConnection, url: database.url, poolSize: 1 })
    try {
      const { drawn } = await runSimulation({
        seed,
        length: 20 * 60_000,
        calm: 0,
        cloneDatabase: async () => kept,
      })
      const config = await readConfig(drawn.config, { name: 'simulation', env: {}, folder: '.' })
      const { reading } = engineSettings(config)
      const replay = await openReplay(pool, {
        streams: Object.values(streams),
        clock: systemClock,
      })
      const { tally, rooms } = await replayRooms(replay, {
        ...{ apps: drawn.apps.map(({ id }) => id), room: undefined, mode: 'compare', clock: systemClock },
        rebuild: rebuildWith(Object.values(streams), reading, () => {}),
        onProgress: () => {},
      })
      replay.close()
      expect(rooms).toBeGreaterThan(1)
      expect(tally.tables()).toEqual([])
    } finally {
      await pool.end()
      await database.drop()
    }
  },
  240_000,
)
