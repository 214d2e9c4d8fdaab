import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { AppPlan } from './app.ts'
import { reading } from './readings.ts'
import type { Stage } from './stage.ts'

/** What somebody does to players by hand while the daemon drains. */

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

async function api({ file }: Stage, operation: string, values: object): Promise<number | null> {
  const words = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)])
  const args = ['api', `players.${operation}`, '--config', file, '--app', handled.id, ...words, '--json']
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

const stream = 'rtmp://planted-user:planted-password@media.example.com/live?token=planted-token'

/** Lists are for those who act by hand too. */
export const handled: AppPlan = {
  id: 'by-hand',
  reading: reading(),
  streams: { 'cloud-players': { every: '10s' } },
}

/**
 * A player is made, and destroyed where it is not; another one is destroyed where it is, and one that never was. Answers
 * the exit codes.
 */
export async function deal(stage: Stage): Promise<Readonly<Record<string, number | null | undefined>>> {
  await stage.daemon.ready
  const made = { channelName: 'made by hand', uid: 7077, streamUrl: stream, region: 'na' }
  const created = await api(stage, 'createPlayer', made)
  const [deletedElsewhere, deleted, neverThere] = await Promise.all(
    ['made-1', 'player-3', 'player-0'].map(name =>
      api(stage, 'deletePlayer', { id: `${handled.id}-${name}`, region: 'ap' }),
    ),
  )
  return { created, deletedElsewhere, deleted, neverThere }
}
