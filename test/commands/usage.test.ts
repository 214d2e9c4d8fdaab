import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { type Ended, penstock, penstockEach, penstockUnread } from './penstock.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-usage-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function configFile(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text, { mode: 0o600 })
  return path
}

function backfillOf(stream: string, from = '2026-03-01', to = '2026-03-02'): readonly string[] {
  return ['backfill', '--stream', stream, '--app', 'one', '--from', from, '--to', to]
}

const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['frobnicate'], /unknown command 'frobnicate'/],
  [['statsu'], /Did you mean status\?/],
  [['run', '--conifg', 'x'], /Did you mean --config\?/],
  [['demo', '--for', 'soon'], /Write a duration such as 30s, 5m or 1h\./],
  [['demo', '--for', '0s'], /Write a duration such as 30s, 5m or 1h\./],
  [['demo', '--speed', 'fast'], /Write a number from 0\.1 to 200\./],
  [['demo', '--seed', '-1'], /Write a whole number/],
  [['sandbox', '--port', '70000'], /Write a port from 0 to 65535\./],
  [
    ['sandbox', '--switch', 'appFeed=never'],
    /switch appFeed must be consuming or sliding-window or redelivering/,
  ],
  [['sandbox', '--switch', 'mood=good'], /there is no switch mood; there are appFeed/],
  [['sandbox', '--switch', 'appFeed'], /write name=value/],
  [['sandbox', '--fault', 'storm'], /It must be JSON\./],
  [['sandbox', '--fault', '{"kind": "storm", "wet": 1}'], /rule 0: /],
  [['sandbox', '--profile', 'zoo'], /Allowed choices are school, lively, backlog, idle, calls, classes\./],
  [['backfill', '--stream', 'calls'], /required option '--app <id>' not specified/],
  [['backfill', '--app', 'one', '--stream', 'calls'], /give --stream, --from and --to, or --room/],
  [[...backfillOf('calls'), '--room', 'r'], /option '--room <uuid>' cannot be used with option '--/],
  [['backfill', '--stream', 'colls'], /Allowed choices are app-events, room-events, .* calls, /],
  [['backfill', '--from', 'yesterday'], /Write a date and time such as 2026-02-28/],
  [['backfill', '--from', '2026-02-30'], /argument '2026-02-30' is invalid/],
  [['backfill', '--from', '2026-02-28T24:61'], /argument '2026-02-28T24:61' is invalid/],
  [backfillOf('room-events'), /room-events does not go by time: .* ingest\.room_complete/],
  [backfillOf('app-events'), /app-events does not go by time: it hands out each event once/],
  [backfillOf('calls', '2026-03-02', '2026-03-01'), /--from must be earlier than --to/],
  [['status', '--watch', '--json'], /option '--watch' cannot be used with option '--json'/],
  [['status', '--check', '--watch'], /option '--watch' cannot be used with option '--check'/],
  [['migrate'], /penstock migrate up --config/],
  [['migrate', 'down'], /unknown command 'down'/],
  [[], /penstock demo --for 30s/],
]

const helpful: readonly (readonly [args: readonly string[], snippets: readonly string[]])[] = [
  [
    ['--help'],
    ['penstock run --config penstock.yaml', 'Exit codes: 0 well, 1 failed, 2 wrong command line, 78'],
  ],
  [
    ['help', 'demo'],
    ['--for <duration>', '--json', '--speed <factor>', 'penstock demo --for 30s --json'],
  ],
  [
    ['run', '--help'],
    ['--config <file>', 'penstock run --config penstock.yaml'],
  ],
  [
    ['check', '--help'],
    ['--json', 'which consumes nothing'],
  ],
  [['validate', '--help'], ['asks nothing of the network']],
  [
    ['forecast', '--help'],
    ['--json', 'Ends with 1 when data would be lost', 'penstock forecast --config penstock.yaml'],
  ],
  [
    ['backfill', '--help'],
    ['--stream <name>', "outside the plan's available data", 'penstock backfill --stream calls --app 0a1b2c'],
  ],
  [['status', '--help'], ["penstock status --config penstock.yaml --json | jq '.gaps'"]],
  [['migrate', '--help'], ['penstock migrate up --config penstock.yaml']],
  [
    ['sandbox', '--help'],
    ['--allow-public', 'penstock sandbox --switch appFeed=consuming --switch roomReuse=on'],
  ],
]

/** What became of each of these lines, by its words. */
const ends = new Map<readonly string[], Ended>()

beforeAll(async () => {
  const lines = [...wrong, ...helpful].map(([args]) => args)
  const ended = await penstockEach(lines)
  for (const [index, line] of lines.entries()) ends.set(line, ended[index]!)
})

describe('a wrong command line ends with 2 and says what to do', () => {
  test.each(wrong)('%j', (args, message) => {
    const { code, stdout, stderr } = ends.get(args)!
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe('help ends with 0 and shows examples', () => {
  test.each(helpful)('%j', (args, snippets) => {
    const { code, stdout, stderr } = ends.get(args)!
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const snippet of snippets) expect(stdout).toContain(snippet)
  })
})

test('the version is that of the package', async () => {
  expect(await penstock(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

const apps = (...ids: readonly string[]) =>
  ids
    .map(id => `  - {id: ${id}, region: ap, plan: premium, classroom: {uid: u, token: secret-of-${id}}}`)
    .join('\n')

test('output that nobody reads any more ends the command without a word', async () => {
  expect(await penstockUnread(['--help'])).toEqual({ code: 1, stderr: '' })
})

describe('validate', () => {
  test('says in one line what a right file holds, without a network and without a database', async () => {
    const path = await configFile(
      'right.yaml',
      `database: {url: "postgres://nobody@192.0.2.1/none"}
provider: {classroom: {url: "https://192.0.2.1"}}
streams: {poll: off}
apps:
${apps('one', 'two')}
`,
    )
    expect(await penstock(['validate', '--config', path])).toEqual({
      code: 0,
      stdout:
        'ok: 2 apps, 5 streams each\nnote: call analytics is off: provider.analytics.url is not given\nnote: cloud players are off: provider.players.url is not given\n',
      stderr: '',
    })
  })

  test('ends with 78 and names file, line, key and what is allowed', async () => {
    const path = await configFile(
      'wrong.yaml',
      `provider: {classroom: {url: "https://192.0.2.1"}}
htpp: {}
apps:
${apps('one')}
`,
    )
    const { code, stdout, stderr } = await penstock(['validate', '--config', path])
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
    expect(stderr).toContain(`${path}:2:1  htpp: `)
    expect(stderr).not.toContain('secret-of-one')
  })

  test('ends with 78 when there is no file', async () => {
    const { code, stderr } = await penstock(['validate', '--config', join(folder, 'none.yaml')])
    expect(code).toBe(78)
    expect(stderr).toContain('none.yaml  the file cannot be read: no such file or directory')
  })

  test('every command that reads a configuration ends with 78 for a wrong one', async () => {
    const path = await configFile('empty.yaml', '')
    const commands = [
      ...[['run'], ['check'], ['status'], ['migrate', 'up'], ['migrate', 'status']],
      ...[['forecast'], backfillOf('calls')],
    ]
    const ends = await Promise.all(commands.map(command => penstock([...command, '--config', path])))
    expect(ends.map(({ code }) => code)).toEqual(commands.map(() => 78))
    for (const { stderr } of ends) expect(stderr).toContain('config/penstock.example.yaml shows every key')
  })
})

test('a database that cannot be reached is one sentence without a stack', async () => {
  const path = await configFile(
    'unreachable.yaml',
    `database: {url: "postgres://penstock:hidden-word@127.0.0.1:1/none"}
provider: {classroom: {url: "https://192.0.2.1"}}
apps:
${apps('one')}
`,
  )
  const commands = [['status'], ['migrate', 'up'], ['migrate', 'status']]
  const ends = await Promise.all(commands.map(command => penstock([...command, '--config', path])))
  const stderr = 'penstock: the database of database.url, 127.0.0.1:1, cannot be reached (ECONNREFUSED)\n'
  expect(ends).toEqual(commands.map(() => ({ code: 1, stdout: '', stderr })))
})

test('the checking of certificates cannot be switched off', async () => {
  const config = new URL('../config/good/short.yaml', import.meta.url).pathname
  for (const command of ['run', 'check']) {
    const { code, stderr } = await penstock([command, '--config', config], {
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    })
    expect(code).toBe(78)
    expect(stderr).toContain(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates; unset it',
    )
  }
})
