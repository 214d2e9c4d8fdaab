import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Config, knownSecrets } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/load.ts'
import { readSecretFile, runSecretCommand, Secret, SecretError } from '../../src/config/secret.ts'
import { secretFilter } from '../../src/telemetry/sanitize.ts'

const printer = (text: string): readonly string[] => [
  process.execPath,
  '-e',
  `process.stdout.write(${JSON.stringify(text)})`,
]

async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-'))
  for (const [name, content] of Object.entries(files))
    await writeFile(join(folder, name), content, { mode: 0o600 })
  return folder
}

async function configWith(classroom: string, folder: string, more = ''): Promise<Config> {
  const text = `
provider: { classroom: { url: "https://x.example" } }
apps:
  - id: a
    region: ap
    plan: starter
    classroom: { uid: penstock, ${classroom} }
${more}`
  return await readConfig(text, { name: 'penstock.yaml', env: { PATH: process.env.PATH }, folder })
}

const tokenOf = (config: Config): Secret => config.apps[0]!.classroom!.token

describe('a secret', () => {
  const secret = Secret.of('CANARY')

  it.each([
    ['as text', `${secret}`],
    ['joined to a text', `token ${String(secret)}`],
    ['as JSON', JSON.stringify({ secret })],
    ['in the inspector', inspect({ secret }, { depth: 9, showHidden: true })],
    [
      'in an error',
      new Error('refused', { cause: secret }).stack + inspect(new Error('x', { cause: secret })),
    ],
    ['spread into an object', JSON.stringify({ ...secret })],
  ])('cannot be read %s', (_, shown) => {
    expect(shown).not.toContain('CANARY')
  })

  it('is given to whoever asks for it by name', async () => {
    expect(await secret.reveal()).toBe('CANARY')
  })

  it('is read once until it is refreshed', async () => {
    let reads = 0
    const counted = Secret.from(async () => `read ${++reads}`, 'somewhere')
    expect(await Promise.all([counted.reveal(), counted.reveal()])).toEqual(['read 1', 'read 1'])
    counted.refresh()
    expect(await counted.reveal()).toBe('read 2')
    expect(counted.known()).toEqual(['read 2', 'read 1'])
  })

  it('that could not be read is tried again', async () => {
    let reads = 0
    const flaky = Secret.from(async () => {
      if (++reads === 1) throw new SecretError('a.b', 'the file cannot be read')
      return 'there'
    }, 'somewhere')
    await expect(flaky.reveal()).rejects.toThrow('a.b: the file cannot be read')
    expect(await flaky.reveal()).toBe('there')
  })
})

describe('a secret in a file', () => {
  it('is read with the end of its line cut off, and again after a refresh', async () => {
    const folder = await folderWith({ token: 'CANARY-1\n' })
    const token = tokenOf(await configWith('tokenFile: token', folder))
    expect(await token.reveal()).toBe('CANARY-1')
    await writeFile(join(folder, 'token'), 'CANARY-2\r\n')
    expect(await token.reveal()).toBe('CANARY-1')
    token.refresh()
    expect(await token.reveal()).toBe('CANARY-2')
  })

  it.each([
    ['empty', '', 'the file is empty'],
    ['blank', ' \n\n', 'the file is empty'],
    ['two-lines', 'CANARY\nCANARY', 'the file is more than one line'],
    ['binary', Uint8Array.of(0x43, 0xff, 0xfe), 'the file is not UTF-8'],
    ['huge', 'CANARY'.repeat(20_000), 'the file is longer than 65536 bytes'],
  ])('is refused when it is %s', async (name, content, reason) => {
    const folder = await folderWith({ [name]: content })
    const refusal = configWith(`tokenFile: ${name}`, folder)
    await expect(refusal).rejects.toThrow(
      new RegExp(
        `^penstock\\.yaml:7:\\d+ {2}apps\\[0\\]\\.classroom\\.tokenFile: ${reason} \\(relative paths start at ${folder}\\)$`,
      ),
    )
  })

  it('that every user can read is warned about', async () => {
    const folder = await folderWith({ token: 'CANARY' })
    await chmod(join(folder, 'token'), 0o644)
    const { warnings } = await configWith('tokenFile: token', folder)
    expect(warnings).toEqual([
      'penstock.yaml:7:44  apps[0].classroom.tokenFile: every user of this machine can read this file; chmod 600 closes it',
    ])
  })

  it('that vanishes later is an error without its path', async () => {
    const refusal = readSecretFile('apps[0].classroom.tokenFile', '/nowhere/CANARY')
    await expect(refusal).rejects.toThrow(
      new SecretError('apps[0].classroom.tokenFile', 'the file cannot be read: no such file or directory'),
    )
  })

  it('may be the address of the database', async () => {
    const folder = await folderWith({ address: 'postgres://penstock:CANARY@db/penstock\n', other: 'CANARY' })
    const { database } = await configWith('token: t', folder, 'database: { urlFile: address }')
    expect(await database.url.reveal()).toBe('postgres://penstock:CANARY@db/penstock')
    const refusal = configWith('token: t', folder, 'database: { urlFile: other }')
    await expect(refusal).rejects.toThrow('must be embedded, or an address')
    await expect(refusal).rejects.not.toThrow('CANARY')
  })
})

describe('a secret from a command', () => {
  it('is what the command prints, asked for only when it is needed', async () => {
    const folder = await folderWith({
      'token.mjs': `process.stdout.write('CANARY from ' + process.argv[2] + '\\n')`,
    })
    const words = JSON.stringify([process.execPath, join(folder, 'token.mjs'), '$HOME; ls'])
    const token = tokenOf(await configWith(`tokenCommand: ${words}`, folder))
    expect(token.known()).toEqual([])
    expect(await token.reveal()).toBe('CANARY from $HOME; ls')
  })

  it('may be one line, split at spaces', async () => {
    const token = tokenOf(await configWith('tokenCommand: "echo  CANARY token"', '/'))
    expect(await token.reveal()).toBe('CANARY token')
  })

  it('is not run when the configuration is read', async () => {
    await expect(configWith('tokenCommand: /nowhere/program', '/')).resolves.toBeDefined()
  })

  it.each([
    ['is not there', ['/nowhere/CANARY'], 'the program cannot be run: no such file or directory'],
    [
      'fails',
      [process.execPath, '-e', 'console.error("CANARY"); process.exit(3)'],
      'the program failed with exit code 3',
    ],
    [
      'is killed',
      [process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")'],
      'the program was ended by SIGKILL',
    ],
    ['prints nothing', printer(''), 'what the program printed is empty'],
    ['prints several lines', printer('CANARY\nCANARY'), 'what the program printed is more than one line'],
    ['prints without end', printer('CANARY'.repeat(20_000)), 'the program printed more than 65536 bytes'],
  ])('is an error that shows nothing of it when the program %s', async (_, words, reason) => {
    const refusal = runSecretCommand('tokenCommand', words, { PATH: process.env.PATH })
    await expect(refusal).rejects.toThrow(new SecretError('tokenCommand', reason))
  })

  it('is given up when the program does not end, even if its children hold the output open', async () => {
    const words = ['/bin/sh', '-c', 'sleep 5; echo CANARY']
    const refusal = runSecretCommand('tokenCommand', words, { PATH: process.env.PATH }, 50)
    await expect(refusal).rejects.toThrow(
      new SecretError('tokenCommand', 'the program did not end within 50 ms'),
    )
  })
})

describe('the secrets that a log must not show', () => {
  const everything = `
    rest: { key: CANARY-key, secret: "CANARY secret/2" }
database: { url: "postgres://penstock:CANARY%2Fpassword@db/penstock" }`

  it.each([
    'CANARY-token',
    'CANARY-key',
    'CANARY secret/2',
    'CANARY%20secret%2F2',
    'Q0FOQVJZLWtleTpDQU5BUlkgc2VjcmV0LzI=',
    'postgres://penstock:CANARY%2Fpassword@db/penstock',
    'CANARY%2Fpassword',
    'CANARY/password',
  ])('are replaced as plain texts and in the forms in which they travel: %s', async form => {
    const folder = await folderWith({ token: 'CANARY-token' })
    const filter = secretFilter(knownSecrets(await configWith('tokenFile: token', folder, everything)))
    expect(filter(`it is ${form}.`)).toBe('it is [redacted].')
  })

  it('include the token before a change, and leave out words that logs are full of', async () => {
    const folder = await folderWith({ token: 'CANARY-1' })
    const config = await configWith('tokenFile: token', folder)
    await writeFile(join(folder, 'token'), 'CANARY-2')
    tokenOf(config).refresh()
    await tokenOf(config).reveal()
    expect(knownSecrets(config)).toEqual(expect.arrayContaining(['CANARY-1', 'CANARY-2']))
    expect(knownSecrets(config)).not.toContain('embedded')
  })
})
