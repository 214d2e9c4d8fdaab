import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destroyEmbedded, startEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { startStandby } from '../support/standby.ts'

/** A primary and a standby behind one address, as a service of Kubernetes or an address that moves stands before them. */
export interface Pair {
  /** Of whichever is the primary. */
  readonly url: string
  /** Ends the primary as a power cut does, promotes the standby and leads the address to it. */
  readonly failOver: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A migrated database with a standby that follows it. */
export async function startPair(): Promise<Pair> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-failover-'))
  await chmod(folder, 0o755)
  const [first, second] = [join(folder, 'primary'), join(folder, 'standby')]
  const primary = await startEmbedded({ dataDir: first, clock: systemClock, durability: 'test' })
  await migrateUp({ url: primary.url })
  const standby = await startStandby(primary, first, second)
  const relay = await startRelay(Number(new URL(primary.url).port))
  return {
    url: Object.assign(new URL(primary.url), { port: String(relay.port) }).href,
    failOver: async () => {
      relay.lead(undefined)
      // Its children see that it is gone and end at once.
      process.kill(primary.pid, 'SIGKILL')
      await standby.promote()
      relay.lead(Number(new URL(standby.url).port))
    },
    stop: async () => {
      await relay.close()
      await Promise.all([primary.stop(), standby.stop()])
      for (const dataDir of [first, second]) await destroyEmbedded(dataDir, systemClock)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Passes bytes on to a port of this machine that may change; undefined refuses whoever comes. */
async function startRelay(to: number) {
  let target: number | undefined = to
  const sockets = new Set<Socket>()
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer(near => {
    if (target === undefined) return void near.destroy()
    const far = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    lead: (next: number | undefined) => {
      target = next
      end()
    },
    close: async () => {
      server.close()
      end()
      await once(server, 'close')
    },
  }
}
