import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemRandom } from '../../src/clock/system.ts'
import { makeRunnable, type NativePackage } from '../src/binaries.ts'

const isRoot = process.getuid?.() === 0
const OWN = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, switched: false }
const NOBODY = { uid: 65_534, gid: 65_534, switched: true }

let root: string
let found: NativePackage

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'penstock-binaries-'))
  found = { root: join(root, 'package'), version: `18.4.0-${systemRandom.uuid()}` }
  const native = join(found.root, 'native')
  await mkdir(join(native, 'bin'), { recursive: true })
  await mkdir(join(native, 'lib'))
  await writeFile(join(native, 'bin', 'postgres'), 'program', { mode: 0o700 })
  await writeFile(join(native, 'lib', 'libpq.so.5.18'), 'library', { mode: 0o600 })
  await writeFile(join(native, 'lib', 'libpq.a'), 'archive')
  const link = { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify([link]))
})

afterEach(() => rm(root, { recursive: true, force: true }))

test('links that npm leaves out are made in place', async () => {
  const { postgres, major } = await makeRunnable(found, OWN, root)
  expect(postgres).toBe(join(found.root, 'native/bin/postgres'))
  expect(major).toBe('18')
  expect(await readlink(join(found.root, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18')
  await expect(makeRunnable(found, OWN, root)).resolves.toMatchObject({ postgres })
})

test.runIf(isRoot)(
  'a package that the other user cannot reach is copied, links and rights included',
  async () => {
    await chmod(root, 0o700)
    const { postgres } = await makeRunnable(found, NOBODY, root)
    const copy = dirname(dirname(dirname(postgres)))
    try {
      expect(copy.startsWith(root)).toBe(false)
      expect(copy).toContain(found.version)
      expect((await stat(postgres)).mode & 0o777).toBe(0o755)
      expect(await readFile(join(copy, 'native/lib/libpq.so.5'), 'utf8')).toBe('library')
      expect((await stat(join(copy, 'native/lib/libpq.so.5.18'))).mode & 0o777).toBe(0o644)
      await expect(lstat(join(copy, 'native/lib/libpq.a'))).rejects.toMatchObject({ code: 'ENOENT' })
      expect((await makeRunnable(found, NOBODY, root)).postgres).toBe(postgres)
    } finally {
      await rm(copy, { recursive: true, force: true })
    }
  },
)
