import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { systemClock } from '../../src/clock/system.ts'
import { createCredentials, type TokenSource } from '../../src/http/authentication.ts'
import { HttpTransport, type TransportOptions } from '../../src/http/transport.ts'
import { roomEvents } from '../../src/provider/classroom/index.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { type RawServer, startRawServer } from './raw-server.ts'

export const canaryToken = 'canary-token-1f7c'

export const emptyPage = '{"code":0,"msg":"Success","ts":1767225600000,"data":{"list":[],"nextId":null}}'

export const readRoom = requestLine(roomEvents, { region: 'ap', appId: 'app1', roomUuid: 'room 1' })

/** A secret that stays as it is. */
export function fixed(text: string): TokenSource {
  return { current: async () => text, refresh: async () => false }
}

export const staticCredentials = createCredentials({
  apps: {
    app1: {
      classroom: { uid: fixed('penstock'), token: fixed(canaryToken) },
      rest: { key: fixed('the-key'), secret: fixed('the-secret') },
    },
  },
})

/** A raw server and a transport that knows it, both closed when the test ends. */
export async function setUp(
  answer: (socket: Socket, request: string) => void,
  options: Partial<TransportOptions> & { readonly bodyBytes?: number } = {},
  providersAt?: (url: string) => TransportOptions['providers'],
) {
  const server: RawServer = await startRawServer(answer)
  const { bodyBytes, ...rest } = options
  const transport = new HttpTransport({
    clock: systemClock,
    random: seededRandom(1),
    providers: { classroom: { url: server.url, ...(bodyBytes === undefined ? {} : { bodyBytes }) } },
    credentials: staticCredentials,
    ...rest,
    ...(providersAt && { providers: providersAt(server.url) }),
  })
  onTestFinished(async () => {
    await server.close()
    await transport.close()
  })
  return { server, transport }
}
