import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { launch, penstock } from './penstock.ts'

test('the sandbox prints how to ask it, answers, and ends at a signal', async () => {
  const running = launch(['sandbox', '--port', '0', '--profile', 'idle', '--switch', 'feedShape=list'])
  const curl = await running.line(/^ +curl -H/)
  const [, uid, token, url] = /curl -H '([^']+)' -H '([^']+)' (\S+)$/.exec(curl)!
  const headers = [uid!, token!].map(header => header.split(': ') as [string, string])
  const response = await fetch(url!, { headers })
  expect(await response.json()).toMatchObject({ code: 0, data: { nextId: null } })
  running.process.kill('SIGTERM')
  expect(await running.ended).toBe(0)
  expect(running.lines.at(-1)).toBe('1 requests came, 0 of them broke a rule')
})

test('the call analytics keep the plan that the command line names', async () => {
  const running = launch(['sandbox', '--port', '0', '--profile', 'calls', '--plan', 'starter'])
  const curl = await running.line(/^ +curl -u/)
  const [, credential, url] = /curl -u (\S+) '([^']+)'$/.exec(curl)!
  const authorization = `Basic ${Buffer.from(credential!).toString('base64')}`
  const response = await fetch(url!, { headers: { authorization } })
  expect(await response.json()).toMatchObject({
    code: 300,
    message: expect.stringMatching(/^you have no auth/),
  })
  running.process.kill('SIGTERM')
  expect(await running.ended).toBe(0)
})

test('a port that is taken is one sentence', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const { code, stderr } = await penstock(['sandbox', '--port', String(port)])
  holder.close()
  expect(code).toBe(1)
  expect(stderr).toBe(`penstock: port ${port} is taken: choose another with --port, or 0 for any free one\n`)
})
