import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { followFile, sightingOf } from '../../src/commands/reload.ts'
import { openEndpoints } from '../../src/commands/wiring/endpoints.ts'
import type { Config } from '../../src/config/config.ts'
import { fakeLog } from '../engine/harness.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const listening = { listen: { host: '127.0.0.1', port: 0 } }

/** Endpoints of which each takes until the test says so to be opened. */
function endpoints() {
  const config = { http: listening, notifications: listening } as unknown as Config
  const opened = Promise.withResolvers<void>()
  const closed: string[] = []
  const { serve, close } = openEndpoints(config, fakeLog([]), () => {})
  const begin = (name: string) =>
    serve('notifications', async () => {
      await opened.promise
      return { url: name, close: async () => void closed.push(name) }
    }).catch((error: Error) => error.message)
  return { begin, close, closed, open: () => opened.resolve() }
}

it('what was being opened when all was closed, or is opened after that, is closed too', async () => {
  const { begin, close, closed, open } = endpoints()
  const first = begin('first')
  await close()
  open()
  expect(await first).toMatch(/is stopping/)
  expect(closed).toEqual(['first'])
  expect(await begin('second')).toMatch(/is stopping/)
  expect(closed.filter(name => name === 'first')).toHaveLength(1)
})

it('a configuration that was being read when the daemon was told to stop is not taken over', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'penstock-')), 'penstock.yaml')
  await writeFile(path, '')
  const clock = new VirtualClock()
  const stopping = new AbortController()
  const [begun, read] = [Promise.withResolvers<void>(), Promise.withResolvers<Config>()]
  const taken: string[] = []
  const { ask } = followFile({
    ...{ path, clock, seen: await sightingOf(path), signal: stopping.signal },
    read: () => {
      begun.resolve()
      return read.promise
    },
    takeOver: async (_next, on) => void taken.push(on),
    refused: () => taken.push('refused'),
    hasNewKey: () => false,
  })
  ask()
  await begun.promise
  stopping.abort()
  read.resolve({} as Config)
  await clock.advance(0)
  expect(taken).toEqual([])
})

it('a key that changes has the configuration read again, and no file that is being written', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'penstock-')), 'penstock.yaml')
  await writeFile(path, '')
  const clock = new VirtualClock()
  const stopping = new AbortController()
  const taken: string[] = []
  let isNew = false
  followFile({
    ...{ path, clock, seen: await sightingOf(path), signal: stopping.signal },
    read: async () => ({}) as Config,
    takeOver: async (_next, on) => {
      isNew = false
      taken.push(on)
    },
    refused: () => taken.push('refused'),
    hasNewKey: () => isNew,
  })
  const look = async () => {
    await clock.advance(2_000)
    await setTimeout(50)
  }
  await look()
  isNew = true
  await writeFile(path, 'half')
  await look()
  expect(taken).toEqual([])
  await writeFile(path, 'whole of it')
  await look()
  await look()
  expect(taken).toEqual(['the file changed'])
  isNew = true
  await look()
  stopping.abort()
  expect(taken).toEqual(['the file changed', 'a key changed'])
})
