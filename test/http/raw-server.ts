import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface RawServer {
  readonly url: string
  readonly port: number
  /** Head and what came with it, one per request. */
  readonly requests: readonly string[]
  readonly connections: () => number
  readonly bytesWritten: () => number
  readonly close: () => Promise<void>
}

/** A server that speaks whatever bytes a test wants: `answer` gets the socket once a request's head is in. */
export async function startRawServer(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  let connections = 0
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    let head = ''
    socket.on('error', () => {})
    socket.on('data', chunk => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      requests.push(head)
      const request = head
      head = ''
      answer(socket, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    bytesWritten: () => [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A well-formed answer with a length. */
export function framed(
  body: string | Uint8Array,
  status = '200 OK',
  headers: readonly string[] = [],
): Buffer {
  const bytes = Buffer.from(body)
  const head = [`HTTP/1.1 ${status}`, `content-length: ${bytes.length}`, ...headers].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), bytes])
}
