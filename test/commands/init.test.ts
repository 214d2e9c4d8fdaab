import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { writeFrom } from '../../src/commands/init.ts'
import { penstock } from './penstock.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-init-'))
  path = join(folder, 'penstock.yaml')
  await writeFile(join(folder, 'token'), 'a-token\n', { mode: 0o600 })
  await writeFile(join(folder, 'secret'), 'a-secret\n', { mode: 0o600 })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const classroom = ['--classroom-url', 'https://classroom.example.com', '--uid', '7', '--token-file', 'token']
const rest = [
  '--analytics-url',
  'https://a.example.com',
  '--players-url',
  'https://p.example.com',
  '--key',
  'k',
]

test('init writes from flags a configuration that validate accepts, with the schema for an editor', async () => {
  const flags = ['--app', '0123', ...classroom, ...rest, '--secret-file', 'secret']
  const { code, stdout } = await penstock(['init', '--config', path, ...flags])
  expect([code, stdout.split('\n')[0]]).toEqual([0, `wrote ${path}: 1 app, 14 streams`])
  const text = await readFile(path, 'utf8')
  const schema = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)![1]!
  expect(resolve(dirname(path), schema)).toBe(resolve('config/penstock.schema.json'))
  const validated = await penstock(['validate', '--config', path])
  expect([validated.code, validated.stdout.split('\n')[0]]).toEqual([0, 'ok: 1 app, 14 streams'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('init asks for what no flag says, and keeps secrets in files of their own', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const asked: string[] = []
  const typed = ['a1', '', '', 'https://classroom.example.com', '7', '', 's3cret', '', '', '']
  await writeFrom({ config: path }, async (question, isSecret) => {
    asked.push(`${isSecret ? 'hidden ' : ''}${question}`)
    return typed.shift()!
  })
  write.mockRestore()
  expect(asked).toContain('Region of its servers (cn, ap, eu, na) [ap]: ')
  expect(asked.filter(question => question.startsWith('hidden'))).toEqual(Array(2).fill('hidden Its token: '))
  expect(asked.filter(question => question.includes('REST'))).toEqual([])
  const text = await readFile(path, 'utf8')
  expect(text).not.toContain('s3cret')
  expect(text).toContain('tokenFile: "secrets/a1-classroom-token"')
  expect(await readFile(join(folder, 'secrets/a1-classroom-token'), 'utf8')).toBe('s3cret\n')
  expect((await stat(join(folder, 'secrets/a1-classroom-token'))).mode & 0o777).toBe(0o600)
  expect((await penstock(['validate', '--config', path])).code).toBe(0)
})

test('init asks again for what the configuration would refuse, and says what it may be', async () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const asked: string[] = []
  const typed = ['a 1', 'a1', 'asia', 'eu', '', 'example.com', 'https://c.example.com', '7', 's', '', '', '']
  await writeFrom({ config: path }, async question => {
    asked.push(question)
    return typed.shift()!
  })
  write.mockRestore()
  expect(asked[1]).toBe(
    'It must be an app ID: 1 to 64 letters, digits, "_", "." or "-".\nApp ID of your project: ',
  )
  expect(asked[3]).toMatch(/^It must be one of cn, ap, eu, na.*\nRegion of its servers/)
  expect(asked[6]).toMatch(/^It must be an address such as https.*\nAddress of the classroom service/)
  expect((await penstock(['validate', '--config', path])).code).toBe(0)
})

test('init says which flag is missing where nobody can be asked, and writes over nothing', async () => {
  const lacking = await penstock([
    'init',
    '--config',
    path,
    '--app',
    'a1',
    '--classroom-url',
    'https://c.example.com',
  ])
  expect([lacking.code, lacking.stderr]).toEqual([
    2,
    'penstock: --uid is needed: User ID that asks the classroom service (at a terminal it is asked for)\n',
  ])
  const none = await penstock(['init', '--config', path, '--app', 'a1'])
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no service is given')])
  await writeFile(path, 'mine')
  const there = await penstock(['init', '--config', path, '--app', 'a1', ...classroom])
  expect([there.code, there.stderr]).toEqual([1, expect.stringContaining('is there already')])
  expect(await readFile(path, 'utf8')).toBe('mine')
  expect((await penstock(['init', '--force', '--config', path, '--app', 'a1', ...classroom])).code).toBe(0)
})

test('init refuses what validate would refuse, and writes nothing', async () => {
  const wrong = await penstock(['init', '--config', path, '--app', 'a1', '--plan', 'gold', ...classroom])
  expect([wrong.code, wrong.stderr]).toEqual([78, expect.stringContaining('plan')])
  await expect(stat(path)).rejects.toThrow('ENOENT')
})

test('init writes where a secret will be that is not here, and says so', async () => {
  const elsewhere = classroom.with(-1, '/run/secrets/token-of-nobody')
  const { code, stdout } = await penstock(['init', '--config', path, '--app', 'a1', ...elsewhere])
  expect([code, stdout.split('\n').slice(0, 2)]).toEqual([
    0,
    [
      `wrote ${path}`,
      expect.stringMatching(/^warning: .*tokenFile: the file cannot be read: no such file or directory/),
    ],
  ])
  expect(await readFile(path, 'utf8')).toContain('/run/secrets/token-of-nobody')
})
