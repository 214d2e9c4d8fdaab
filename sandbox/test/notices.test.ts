import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { launch, penstock } from '../../test/commands/penstock.ts'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { postTo } from '../src/notices.ts'

let server: Server

afterEach(async () => {
  server.close()
  server.closeAllConnections()
})

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/notifications`
}

test('the sandbox posts what happens to players to the address it is given, signed, though nobody looks', async () => {
  const got = Promise.withResolvers<{ readonly request: IncomingMessage; readonly body: string }>()
  const url = await serve(async (request, response) => {
    const body = await text(request)
    response.end()
    got.resolve({ request, body })
  })
  const running = launch(['sandbox', '--port', '0', '--profile', 'idle', '--notify', url])
  const told = await running.line(/^notifications go to/)
  const secret = /signed with (\S+)$/.exec(told)![1]!
  const curl = await running.line(/^ +curl -u .*cloud-player/)
  const [, credential, players] = /curl -u (\S+) (\S+)$/.exec(curl)!
  const created = await fetch(players!.replace('/v1/', '/ap/v1/'), {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(credential!).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ streamUrl: 'rtmp://live.example/a', channelName: 'a', uid: 7 }),
  })
  expect(created.status).toBe(200)
  const { request, body } = await got.promise
  expect(request.method).toBe('POST')
  expect(JSON.parse(body)).toMatchObject({
    eventType: 1,
    payload: { player: { id: created.headers.get('x-resource-id') } },
  })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  expect(request.headers['x-svc-signature-v2']).toBe(signature)
  running.process.kill('SIGTERM')
  expect(await running.ended).toBe(0)
})

test('an answer tells its status, and a redirect is not followed', async () => {
  let requests = 0
  const url = await serve((_, response) => {
    requests++
    response.writeHead(307, { location: url }).end()
  })
  expect(await postTo(url, systemClock)('demo', { headers: {}, body: '{}' })).toBe(307)
  expect(requests).toBe(1)
})

test('an answer that does not come within ten seconds is none', async () => {
  const clock = new VirtualClock()
  const arrived = Promise.withResolvers<void>()
  const url = await serve(() => arrived.resolve())
  const outcome = postTo(url, clock)('demo', { headers: {}, body: '{}' }).then(
    () => 'answered',
    () => 'given up',
  )
  await arrived.promise
  await clock.advance(9_999)
  expect(await Promise.race([outcome, clock.advance(0).then(() => 'waiting')])).toBe('waiting')
  await clock.advance(1)
  expect(await outcome).toBe('given up')
})

test('an address that is none is refused', async () => {
  await serve(() => undefined)
  const { code, stderr } = await penstock(['sandbox', '--notify', 'somewhere'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('Write an address such as http://')])
})
