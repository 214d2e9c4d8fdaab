import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { clientKinds } from '../src/client/errors.ts'

/** The package as somebody else installs it: packed, and unpacked into a folder of packages. */

const run = promisify(execFile)
const clone = resolve('.')

let folder: string
let installed: string
let files: readonly string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-package-'))
  installed = join(folder, 'node_modules', 'penstock')
  await mkdir(installed, { recursive: true })
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: clone,
    maxBuffer: 2 ** 24,
  })
  const [packed] = JSON.parse(stdout) as readonly {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  files = packed!.files.map(({ path }) => path)
  await run('tar', ['xzf', join(folder, packed!.filename), '-C', installed, '--strip-components=1'])
  await symlink(join(clone, 'node_modules'), join(installed, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** What the compiler says of files beside the package, strictly and their types included. */
function compile(files: readonly string[], way: 'nodenext' | 'bundler') {
  const modules =
    way === 'nodenext' ? ['--module', 'nodenext'] : ['--module', 'esnext', '--moduleResolution', way]
  const types = ['--types', 'node', '--typeRoots', join(clone, 'node_modules/@types')]
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      ...[join(clone, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2024'],
      // Several checkers would each read the same types anew, and take the core from the tests beside this one.
      ...['--singleThreaded', ...modules, ...types, ...files],
    ],
    { cwd: folder, encoding: 'utf8' },
  )
  return { status, stdout }
}

const here = { env: { PATH: process.env.PATH ?? '' } }

describe('the package', () => {
  test('holds JavaScript with its types and what is read at run time, and nothing of the workshop', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        ...[
          'bin/penstock.mjs',
          'dist/main.js',
          'dist/index.js',
          'dist/index.d.ts',
          'migrations/0001-roles.sql',
        ],
        ...[
          'config/penstock.schema.json',
          'config/penstock.example.yaml',
          'LICENSE',
          'README.md',
          'package.json',
        ],
      ]),
    )
    const strange = files.filter(
      path => !/^(bin|config|dist|docs|migrations)\/|^(LICENSE|README\.md|package\.json)$/.test(path),
    )
    expect(strange).toEqual([])
    expect(files.filter(path => /(?<!\.d)\.ts$/.test(path))).toEqual([])
  })

  test('holds nothing of a build before', () => {
    const sources = files
      .filter(path => /^dist\/.*\.js$/.test(path))
      .map(path => path.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts'))
    expect(sources.filter(source => !existsSync(join(clone, source)))).toEqual([])
  })

  test('is a library that can be imported', async () => {
    const program = `import { openClient, CallError, ParameterError } from 'penstock'
      const app = { id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } }
      const client = await openClient({ config: { provider: { classroom: { url: 'http://127.0.0.1:1' } }, apps: [app] } })
      const wrong = await client.app('a').classroom.setRoomState({ roomUuid: '', state: 1 }).catch(error => error)
      const failed = await client.app('a').classroom.resources({ roomUuid: 'r' }).catch(error => error)
      console.log(wrong instanceof ParameterError, failed instanceof CallError, failed.kind)
      await client.close()`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: folder,
      ...here,
    })
    expect(stdout).toBe('true true network\n')
  })

  async function writeSample() {
    const page = await readFile('docs/library.md', 'utf8')
    const [, sample] = /^```ts\n([\s\S]*?)^```$/m.exec(page)!
    await writeFile(join(folder, 'sample.ts'), sample!)
  }

  test('has types that a strict compiler takes, as it takes the sample of its document', async () => {
    await writeSample()
    await writeFile(
      join(folder, 'use.ts'),
      `import { type Answer, openClient, type Operations } from 'penstock'
      const client = await openClient({ config: 'penstock.yaml' })
      const { classroom, analytics, players } = client.app('a')
      const { code }: { code: number } = await classroom.setRoomState({ roomUuid: 'r', state: 1 })
      const found = await analytics.callSearch({ start_ts: 1, end_ts: 2 })
      const calls = found.call_lists
      const { player, adopted } = await players.createPlayer({ channelName: 'c', uid: 1, streamUrl: 'rtmp://a/b' })
      const id: string = player.id
      const first: string = calls[0].call_id
      const { total_size, has_more } = found
      const { data } = await analytics.usageInsight({ startTs: 1, endTs: 2, metric: 'userCount', aggregateGranularity: '1d' })
      const users: number | null | undefined = data[0].userCount
      // @ts-expect-error the contract names no such field
      player.foo
      // @ts-expect-error nor here
      calls[0].foo
      // @ts-expect-error nor here
      found.foo
      // @ts-expect-error there is no such state
      await classroom.setRoomState({ roomUuid: 'r', state: 9 })
      // @ts-expect-error a player needs a stream
      await players.createPlayer({ channelName: 'c', uid: 1 })
      export type Listed = Answer<Operations['players']['listPlayers']>
      export const all = [code, first, adopted, id, total_size, has_more, users]`,
    )
    expect(compile(['use.ts', 'sample.ts'], 'nodenext')).toEqual({ status: 0, stdout: '' })
  })

  test('lets the sample of its document be compiled for a bundler', async () => {
    await writeSample()
    expect(compile(['sample.ts'], 'bundler')).toEqual({ status: 0, stdout: '' })
  })

  test('tells in its document every kind of error that the contract does not', async () => {
    const page = await readFile('docs/library.md', 'utf8')
    expect(clientKinds.filter(kind => !page.includes(`\`${kind}\``))).toEqual([])
    expect(page).toMatch(/ConfigError[\s\S]*ParameterError[\s\S]*CallError/)
  })

  test('is described so that every tool finds its files and types', async () => {
    const { messages } = await publint({ pkgDir: installed, pack: false, strict: true })
    expect(messages).toEqual([])
  })

  test('brings the program, which finds its files from there', async () => {
    const program = join(installed, manifest.bin.penstock)
    const penstock = (...words: readonly string[]) =>
      run(process.execPath, [program, ...words], { cwd: folder, ...here })
    expect((await penstock('--version')).stdout).toBe(`${manifest.version}\n`)
    expect((await penstock('api', 'classroom.poll', '--help')).stdout).toContain('--roomUuid')
    const config = JSON.parse(
      JSON.stringify({
        provider: { classroom: { url: 'https://192.0.2.1' } },
        apps: [{ id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } }],
      }),
    )
    await writeFile(join(folder, 'penstock.yaml'), JSON.stringify(config), { mode: 0o600 })
    expect((await penstock('validate')).stdout).toContain('ok: 1 app')
    // An address that nobody answers at: the migrations are found before it is asked.
    const status = spawnSync(process.execPath, [program, 'migrate', 'status'], {
      cwd: folder,
      env: { ...here.env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      encoding: 'utf8',
    })
    expect(status.stderr).toContain('cannot be reached (ECONNREFUSED)')
  })
})

describe('what only a clone has', () => {
  const program = () => join(installed, manifest.bin.penstock)
  const penstock = (words: readonly string[]) =>
    spawnSync(process.execPath, [program(), ...words], { cwd: folder, encoding: 'utf8', ...here })

  test.each([
    [['sandbox', '--port', '0'], /^penstock: this installation has no sandbox: run it from a clone .*\n$/],
    [['demo', '--for', '1s'], /^penstock: this installation has no sandbox: run it from a clone .*\n$/],
  ])('%j ends with 2 and one sentence', (words, sentence) => {
    const { status, stdout, stderr } = penstock(words)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
  })

  test('a configuration that asks for the embedded Postgres ends with 78 and one sentence', async () => {
    const settings = {
      database: { url: 'embedded' },
      provider: { classroom: { url: 'https://192.0.2.1' } },
      apps: [{ id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } }],
    }
    await writeFile(join(folder, 'embedded.yaml'), JSON.stringify(settings), { mode: 0o600 })
    const { status, stderr } = penstock(['run', '--config', 'embedded.yaml'])
    expect(status).toBe(78)
    expect(stderr).toMatch(/database\.url is "embedded", but this installation brings no Postgres: set it to/)
  })

  test('nobody is offered the embedded Postgres who makes a configuration', () => {
    const words = ['--classroom-url', 'https://192.0.2.1', '--app', 'a', '--uid', 'u', '--token-file', 't']
    const { status, stderr } = penstock(['init', '--config', 'new.yaml', ...words])
    expect(status).toBe(2)
    expect(stderr).toMatch(/--database is needed: Address of Postgres, postgres:/)
  })

  test('is not installed with the package: no Node, no Postgres, no part of the sandbox', () => {
    const { dependencies, ...rest } = manifest as Readonly<Record<string, unknown>>
    expect(rest).not.toHaveProperty('optionalDependencies')
    expect(rest).not.toHaveProperty('private')
    expect(Object.keys(dependencies as object).filter(name => /node|postgres|hono/.test(name))).toEqual([
      'node-cron',
    ])
  })
})

describe('a clone', () => {
  test('runs its source without a build', async () => {
    const { stdout } = await run(process.execPath, ['bin/penstock.mjs', '--version'], { cwd: clone, ...here })
    expect(stdout).toBe(`${manifest.version}\n`)
    expect(await readFile('bin/penstock.mjs', 'utf8')).toContain('../src/main.ts')
  })

  test('builds nothing when its packages are installed', () => {
    const scripts: Readonly<Record<string, string>> = manifest.scripts
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'].filter(
      name => name in scripts,
    )
    expect(atInstall).toEqual([])
  })
})
