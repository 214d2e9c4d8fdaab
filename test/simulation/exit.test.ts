import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const patience = 300_000

/** Runs a simulated day as `npm run` does; answers how it ends and what it says of it. */
async function play(day: 'plan' | 'players', args: readonly string[]) {
  const program = fileURLToPath(new URL(`./${day}-main.ts`, import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [found, said, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return {
    code,
    found: JSON.parse(found) as object,
    verdict: said.split('\n').filter(line => /^FAILED/.test(line)),
  }
}

const plan = [
  ...['--plan', 'standard', '--hours', '0.02', '--delay', '3000', '--switch', 'metricSeconds=900'],
  ...['--calls', '100', '--users', '3', '--minutes', '10', '--days', '0.2'],
]
const players = ['--world', 'thin', '--hours', '0.2', '--kills-per-hour', '0', '--plain']

describe.concurrent('a simulated day, as a command', () => {
  it('of a plan ends with 0 where all is well', { timeout: patience }, async () => {
    expect(await play('plan', plan)).toMatchObject({ code: 0, verdict: [], found: { violations: {} } })
  })

  it('of a plan ends with 1 and says why where a limit was broken', { timeout: patience }, async () => {
    const { code, verdict } = await play('plan', [...plan, '--bug', 'slot-freed-at-send'])
    expect([code, verdict.length]).toEqual([1, 1])
    expect(verdict[0]).toMatch(/violations \{"second-/)
  })

  it('of players ends with 0 where all is well', { timeout: patience }, async () => {
    expect(await play('players', players)).toMatchObject({ code: 0, verdict: [], found: { violations: {} } })
  })

  it('of players ends with 1 and says why where something stored is wrong', {
    timeout: patience,
  }, async () => {
    const { code, verdict } = await play('players', [...players, '--bug', 'absence-erases'])
    expect([code, verdict.length]).toEqual([1, 1])
    expect(verdict[0]).toContain('wrong channelName')
  })
})
