import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadListen } from '../../src/config/listen.ts'
import { readConfig } from '../../src/config/load.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-listen-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function listenOf(text: string, env = {}) {
  const file = join(folder, 'penstock.yaml')
  await writeFile(file, text)
  return loadListen(file, { env })
}

const rest = `
provider: { classroom: { url: https://classroom.example.com } }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]
`

const addresses: readonly (readonly [text: string, host: string, port: number])[] = [
  ['', '127.0.0.1', 9464],
  ['http:', '127.0.0.1', 9464],
  ['http: { listen: 0.0.0.0:80 }', '0.0.0.0', 80],
  ['http:\n  listen: "[::1]:9464"', '::1', 9464],
  ['http: { listen: penstock.local:0 }', 'penstock.local', 0],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
  ['http:\n  listen: ${HOST}:${PORT:-81}', '10.0.0.1', 81],
  ['log: &x { listen: 1.2.3.4:5 }\nhttp: { <<: *x }', '1.2.3.4', 5],
]

describe('http.listen, read alone', () => {
  test.each(addresses)('%j is %s and %d', async (text, host, port) => {
    expect(await listenOf(`${text}${rest}`, { HOST: '10.0.0.1' })).toEqual({ host, port })
  })

  test.each(addresses.slice(0, -1))('%j is what the daemon takes it for', async (text, host, port) => {
    const env = { HOST: '10.0.0.1' }
    const { http } = await readConfig(`${text}${rest}`, { name: 'x', env, folder })
    expect(http.listen).toEqual({ host, port })
  })

  test('nothing else of the file matters', async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
    expect(await listenOf('nonsense: ${UNSET}\nhttp: { listen: 0.0.0.0:1, more: 2 }')).toMatchObject({
      port: 1,
    })
  })

  test.each([
    ['http: { listen: 9464 }', /penstock\.yaml:1:17 {2}http\.listen: must be host:port, as in/],
    ['http: { listen: }', /http\.listen: must be host:port/],
    ['http: { listen: 0.0.0.0:70000 }', /http\.listen: must be host:port/],
    ['http: { listen: [0.0.0.0:1] }', /http\.listen: must be host:port/],
    [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
      'http:\n  listen: ${UNSET}',
      /penstock\.yaml:2:11 {2}http\.listen: the environment variable UNSET is not set/,
    ],
    ['http: { listen: "0.0.0.0:1', /a quote, bracket or brace is still open/],
  ])('%j is refused in one sentence', async (text, message) => {
    await expect(listenOf(text)).rejects.toThrow(message)
    await expect(listenOf(text)).rejects.toMatchObject({ exitCode: 78 })
  })
})
