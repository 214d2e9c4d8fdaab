import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repository } from '../container/image.ts'

let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'penstock-helm-'))
  mkdirSync(join(home, 'bin'))
  for (const tool of ['bash', 'cut', 'mkdir', 'mktemp', 'rm', 'mv']) {
    const folder = ['/bin', '/usr/bin'].find(each => existsSync(join(each, tool)))!
    symlinkSync(join(folder, tool), join(home, 'bin', tool))
  }
})

afterEach(() => rmSync(home, { recursive: true }))

/** A Go that does to the program it was asked for what a line of shell says, and finds its source or not. */
function playGo(install: string, source: 'found' | 'out of reach' = 'found'): void {
  const file = join(home, 'bin/go')
  writeFileSync(
    file,
    `#!/bin/sh
case "$1" in
version) echo go version go9.9 linux ;;
list) ${source === 'found' ? ':' : "echo 'no route' >&2; exit 1"} ;;
*) ${install} ;;
esac
`,
  )
  chmodSync(file, 0o755)
}

function build() {
  const { status, stdout, stderr } = spawnSync(
    join(home, 'bin/bash'),
    [join(repository, 'scripts/helm.sh')],
    {
      env: { PATH: join(home, 'bin'), HOME: home },
      encoding: 'utf8',
    },
  )
  return { status, stdout, stderr }
}

test('without Go the build of helm says so, and ends with the status that means: skip', () => {
  expect(build()).toEqual({ status: 3, stdout: '', stderr: expect.stringContaining('there is no Go') })
})

test('the same where Go cannot reach the source', () => {
  playGo('exit 1', 'out of reach')
  expect(build()).toEqual({
    status: 3,
    stdout: '',
    stderr: expect.stringMatching(/no route\n.*cannot reach its source/),
  })
})

test('a build that fails ends with another status, whatever that of Go is, and leaves nothing behind', () => {
  for (const code of [1, 3]) {
    playGo(`echo 'no route to the proxy' >&2; exit ${code}`)
    expect(build()).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/no route to the proxy\nhelm \S+ cannot be built: /),
    })
    const [folder] = readdirSync(join(home, '.cache/penstock'))
    expect(readdirSync(join(home, '.cache/penstock', folder!))).toEqual([])
  }
})

test('one that succeeds says where helm is, and is not made again', () => {
  playGo('echo "#!/bin/sh" >"$GOBIN/helm"; /bin/chmod 755 "$GOBIN/helm"')
  const { status, stdout } = build()
  expect({ status, exists: existsSync(stdout.trim()) }).toEqual({ status: 0, exists: true })
  playGo('exit 1')
  expect(build()).toEqual({ status: 0, stdout, stderr: '' })
})
