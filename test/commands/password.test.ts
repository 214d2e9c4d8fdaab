import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { readAccess } from '../../src/telemetry/access.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

it('prints a line that lets the user in with what was typed, and does not hold it', async () => {
  const child = spawn(process.execPath, [program, 'password', '--user', 'ops'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end('open sesame\n')
  const line = await text(child.stdout)
  expect(line).toMatch(/^ops:scrypt:[0-9a-f]+:[0-9a-f]+\n$/)
  const header = `Basic ${Buffer.from('ops:open sesame').toString('base64')}`
  expect(await readAccess(line)!(header)).toBe(true)
})
