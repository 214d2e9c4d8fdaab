import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

/** Node as it was before 22: it says so, and its module `node:module` has nothing of what came since. */
const older = `
  import { registerHooks } from 'node:module'
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })
  const url = 'data:text/javascript,export default {}'
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:module' ? { url, shortCircuit: true } : next(specifier, context),
  })`

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-bin-'))
  await cp(new URL('../bin', import.meta.url), join(folder, 'bin'), { recursive: true })
  await mkdir(join(folder, 'dist'))
  await writeFile(join(folder, 'dist/main.js'), 'console.log(process.argv[2], process.versions.node)')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

function argumentsOf(word: string): readonly string[] {
  return [
    '--import',
    `data:text/javascript,${encodeURIComponent(older)}`,
    join(folder, 'bin/penstock.mjs'),
    word,
  ]
}

function penstockOnOlderNode(word: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, argumentsOf(word), { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('an older Node without a newer one beside it is told which is needed', () => {
  const { status, stdout, stderr } = penstockOnOlderNode('run')
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^penstock: Node 22\.19 or newer is needed, this is 20\.20\.2: .*\n$/)
})

test('an older Node hands the program to the one that npm has brought along', async () => {
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
  await symlink(process.execPath, join(folder, 'node_modules/.bin/node'))
  expect(penstockOnOlderNode('run')).toEqual({
    ...{ status: 0, stderr: '' },
    stdout: `run ${process.versions.node}\n`,
  })
})

test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)(
  'hands on %s, which means something to the daemon',
  async signal => {
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
    await symlink(process.execPath, join(folder, 'node_modules/.bin/node'))
    const heard = `process.on('${signal}', () => { console.log('heard'); process.exit(7) })`
    await writeFile(
      join(folder, 'dist/main.js'),
      `${heard}; console.log('runs'); setTimeout(() => {}, 20_000)`,
    )
    const child = spawn(process.execPath, argumentsOf('run'), { stdio: ['ignore', 'pipe', 'inherit'] })
    const said: string[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.push(text)
      if (text.startsWith('runs')) child.kill(signal)
    })
    const [code] = await once(child, 'close')
    expect([code, said.join('')]).toEqual([7, 'runs\nheard\n'])
  },
)
