import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestServer, TestServerAddress } from './postgres.ts'

type Answer = { readonly server: TestServerAddress } | { readonly error: string }

export interface Broker {
  readonly port: number
  /** Stops the server too, if anybody asked for it. */
  close(): Promise<void>
}

/**
 * Tells the workers of a run where its Postgres is, and starts that Postgres only when the first of them asks:
 * a run of pure tests pays nothing for it.
 */
export async function openBroker(start: () => Promise<TestServer>): Promise<Broker> {
  let started: Promise<TestServer> | undefined
  const listener = createServer(async socket => {
    socket.on('error', () => socket.destroy())
    started ??= start()
    socket.end(JSON.stringify(await answer(started)))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  listener.unref()
  return {
    port: (listener.address() as AddressInfo).port,
    async close() {
      listener.close()
      const server = await started?.catch(() => undefined)
      await server?.stop()
    },
  }
}

async function answer(started: Promise<TestServer>): Promise<Answer> {
  try {
    const { url, template } = await started
    return { server: { url, template } }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

/** Asked by a worker. Throws what kept the server from starting. */
export async function askBroker(port: number): Promise<TestServerAddress> {
  const socket = connect(port, '127.0.0.1')
  const reply = JSON.parse(await text(socket)) as Answer
  if ('error' in reply) throw new Error(`there is no Postgres for the tests: ${reply.error}`)
  return reply.server
}
