import { once } from 'node:events'
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Sandbox } from './sandbox.ts'
import { ConnectionLost } from './wire.ts'

export interface ListenOptions {
  readonly host?: string
  /** 0 takes a free one. */
  readonly port?: number
  /** The sandbox checks no real credentials and has open control routes: only loopback unless allowed. */
  readonly allowPublic?: true
}

export interface Listening {
  readonly url: string
  /** Ends all connections. */
  close(): Promise<void>
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/** Serves the sandbox over HTTP. Throws when the host is not loopback and not allowed, or the port is taken. */
export async function listen(sandbox: Sandbox, options: ListenOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 0 } = options
  if (!loopback.has(host) && !options.allowPublic) {
    throw new Error(`the sandbox listens on loopback only, not on ${host}, unless that is allowed explicitly`)
  }
  const server = createAdaptorServer({
    fetch: async (request, { incoming }) => {
      try {
        return await sandbox.fetch(request, () => incoming.destroy())
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        incoming.destroy()
        return RESPONSE_ALREADY_SENT
      }
    },
  }) as Server
  server.listen(port, host)
  await once(server, 'listening')
  return { url: urlOf(server), close: () => close(server) }
}

function urlOf(server: Server): string {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the sandbox has no address')
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
