import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problem.ts'

const folder = new URL('wrong/', import.meta.url).pathname
const cases = (await readdir(folder))
  .filter(name => name.endsWith('.yaml'))
  .map(name => name.replace('.yaml', ''))
const env = { EMPTY: '', CANARY_VARIABLE: 'CANARY-value' }

const refusals = new Map<string, Promise<ConfigError>>()

/** Both tests of a file look at one reading of it. */
function refusalOf(path: string): Promise<ConfigError> {
  const refusal = refusals.get(path) ?? read(path)
  refusals.set(path, refusal)
  return refusal
}

async function read(path: string): Promise<ConfigError> {
  const outcome = await loadConfig(path, { env }).catch((error: unknown) => error)
  if (outcome instanceof ConfigError) return outcome
  throw new Error(`${path} was not refused as a configuration`, { cause: outcome })
}

describe('a wrong configuration', () => {
  it('is tried in more than seventy files', () => {
    expect(cases.length).toBeGreaterThan(70)
  })

  it.each(cases)('is refused with its exact message: %s', async name => {
    const refusal = await refusalOf(`${folder}${name}.yaml`)
    const expected = await readFile(`${folder}${name}.txt`, 'utf8')
    expect(
      `${refusal.message}\n`
        .replaceAll(`${folder}${name}`, name)
        .replaceAll(folder.replace(/\/$/, ''), 'FOLDER'),
    ).toBe(expected)
    expect(refusal.exitCode).toBe(78)
  })

  it.each(cases)('never shows a secret: %s', async name => {
    const refusal = await refusalOf(`${folder}${name}.yaml`)
    const shown = JSON.stringify(refusal) + refusal.message + JSON.stringify(refusal.problems)
    expect(shown.replaceAll('CANARY_VARIABLE', '')).not.toContain('CANARY')
  })

  it('that is not there is named', async () => {
    const { message } = await refusalOf('nowhere/penstock.yaml')
    expect(message).toBe(
      'nowhere/penstock.yaml  the file cannot be read: no such file or directory; `penstock init` writes one, --config names another',
    )
  })

  it('that is a directory is named', async () => {
    const { message } = await refusalOf(folder)
    expect(message).toBe(`${folder}  the file cannot be read: illegal operation on a directory`)
  })

  it('is never one in which certificates are not checked', async () => {
    const path = new URL('good/short.yaml', import.meta.url).pathname
    const refusal = loadConfig(path, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
    await expect(refusal).rejects.toThrow('NODE_TLS_REJECT_UNAUTHORIZED=0')
  })

  it('leaves no trace in the prototype of all objects', async () => {
    await refusalOf(`${folder}prototype.yaml`)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    expect('polluted' in {}).toBe(false)
  })
})
