import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { penstock } from '../commands/penstock.ts'

let folder: string
let asked: string[]
let answer: RequestListener
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`)
  answer(request, response)
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-healthcheck-'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

beforeEach(() => {
  asked = []
  answer = (_, response) => response.end('alive\n')
})

afterEach(() => server.closeAllConnections())

afterAll(async () => {
  server.close()
  await rm(folder, { recursive: true, force: true })
})

const port = () => (server.address() as AddressInfo).port

async function configOf(listen: string): Promise<string> {
  const path = join(folder, 'penstock.yaml')
  const app = { id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } }
  const provider = { classroom: { url: 'https://classroom.example.com' } }
  // JSON is YAML too.
  await writeFile(path, JSON.stringify({ http: { listen }, provider, apps: [app] }), { mode: 0o600 })
  return path
}

test('a daemon that is alive is well', async () => {
  const config = await configOf(`127.0.0.1:${port()}`)
  expect(await penstock(['healthcheck', '--config', config])).toEqual({
    code: 0,
    stdout: 'alive\n',
    stderr: '',
  })
  expect(asked).toEqual(['GET /healthz'])
})

test('one that listens on all addresses is asked on this machine', async () => {
  const config = await configOf(`0.0.0.0:${port()}`)
  expect((await penstock(['healthcheck', '--config', config])).code).toBe(0)
})

test('--ready asks whether it works, and says why it does not', async () => {
  answer = (_, response) => response.writeHead(503).end('{"ready":false,"reasons":["draining"]}\n')
  const config = await configOf(`127.0.0.1:${port()}`)
  const { code, stderr } = await penstock(['healthcheck', '--ready', '--config', config])
  expect(code).toBe(1)
  expect(stderr).toBe(
    `penstock: http://127.0.0.1:${port()}/readyz answers 503: {"ready":false,"reasons":["draining"]}\n`,
  )
  expect(asked).toEqual(['GET /readyz'])
})

test('--url asks a daemon elsewhere without a configuration', async () => {
  const { code } = await penstock(['healthcheck', '--ready', '--url', `http://127.0.0.1:${port()}/`])
  expect(code).toBe(0)
  expect(asked).toEqual(['GET /readyz'])
})

test('--within asks again until all is well, and no longer than it was told', async () => {
  let left = 3
  answer = (_, response) => response.writeHead(--left > 0 ? 503 : 200).end('{}\n')
  const url = `http://127.0.0.1:${port()}`
  expect((await penstock(['healthcheck', '--url', url, '--within', '1m'])).code).toBe(0)
  expect(asked).toHaveLength(3)
  left = 1_000
  const { code, stderr } = await penstock(['healthcheck', '--url', url, '--within', '600ms'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: `penstock: ${url}/healthz answers 503: {}\n` })
})

test('where nobody listens it says so', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const free = (closed.address() as AddressInfo).port
  closed.close()
  const { code, stderr } = await penstock(['healthcheck', '--config', await configOf(`127.0.0.1:${free}`)])
  expect(code).toBe(1)
  expect(stderr).toBe(`penstock: http://127.0.0.1:${free}/healthz does not answer (ECONNREFUSED)\n`)
})

test('a daemon that takes the question and says nothing is not well', async () => {
  answer = () => undefined
  const config = await configOf(`127.0.0.1:${port()}`)
  const { code, stderr } = await penstock(['healthcheck', '--config', config])
  expect(code).toBe(1)
  expect(stderr).toMatch(/does not answer \(nothing within 4 s\)/)
})

test('a redirection is not followed', async () => {
  answer = (_, response) => response.writeHead(302, { location: '/' }).end('elsewhere')
  const config = await configOf(`127.0.0.1:${port()}`)
  const { code, stderr } = await penstock(['healthcheck', '--config', config])
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/answers 302: elsewhere/) })
  expect(asked).toEqual(['GET /healthz'])
})

test.each([
  [['--config', 'port-0'], 1, /http\.listen has port 0, so nobody knows where the daemon answers/],
  [['--url', 'penstock:9464'], 2, /--url penstock:9464 is no address: write one such as http:/],
  [['--config', '/nowhere/penstock.yaml'], 78, /the file cannot be read/],
])('%j is one sentence', async (args, code, message) => {
  const portless = await configOf('127.0.0.1:0')
  const words = args.map(word => (word === 'port-0' ? portless : word))
  const ended = await penstock(['healthcheck', ...words])
  expect(ended.code).toBe(code)
  expect(ended.stderr).toMatch(message)
})
