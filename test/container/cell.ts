import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { follow, type Output } from '../support/output.ts'
import type { Image } from './image.ts'
import type { MemoryGroup } from './memory.ts'

export interface CellUser {
  readonly uid: number
  readonly gid: number
  readonly groups?: readonly number[]
}

/** What a container is given besides its image. */
export interface CellOptions {
  readonly image: Image
  /** In the place of the image's CMD. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Files and folders of this machine, read-only, by their paths in the container. */
  readonly volumes?: Readonly<Record<string, string>>
  /** Names that mean this machine. */
  readonly hosts?: readonly string[]
  /** The user of the image, unless told. */
  readonly user?: CellUser
  readonly memory?: MemoryGroup | undefined
  /** What it takes its machine's name to be. */
  readonly name?: string | undefined
  /** In the place of the image's ENTRYPOINT. */
  readonly entrypoint?: readonly string[]
}

/** A process that has a read-only root, no rights, and the process ID 1. */
export interface Cell extends Output {
  /** What the system outside calls its process. */
  readonly pid: () => number
  /** What the system says of it: the words of each field of /proc/PID/status. */
  readonly status: () => Readonly<Record<string, readonly string[]>>
  /** SIGTERM, as an engine sends it to process 1. */
  readonly terminate: () => void
  /** Ends whatever still runs. */
  readonly kill: () => void
}

const script = fileURLToPath(new URL('cell.sh', import.meta.url))
const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child']

/** Why there can be no cells here; undefined where there can. */
export function obstacle(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has namespaces'
  if (process.getuid?.() !== 0) return 'only root may make namespaces and mounts'
  const { status, error } = spawnSync('unshare', [...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt'])
  if (status !== 0) return `namespaces or mounts are not allowed here (${error?.message ?? `exit ${status}`})`
  return spawnSync('setpriv', ['--version']).status === 0 ? undefined : 'there is no setpriv'
}

export function startCell(options: CellOptions): Cell {
  const { image, volumes = {}, env = {}, hosts = [], entrypoint = image.entrypoint } = options
  const user: CellUser = options.user ?? image.user
  const place = mkdtempSync(join(tmpdir(), 'penstock-cell-'))
  const groups = user.groups?.length ? `--groups=${user.groups.join(',')}` : '--clear-groups'
  const variables = Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...image.env, ...env })
  const child = spawn(
    'unshare',
    [
      ...[...namespaces, 'bash', script, `--chdir=${image.workdir}`],
      ...[...variables.map(([name, value]) => `${name}=${value}`), ...entrypoint, ...options.args],
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        CELL: place,
        FILES: image.files,
        NODE: process.execPath,
        CGROUPS: options.memory?.folders.join(' ') ?? '',
        NAME: options.name ?? '',
        VOLUMES: Object.entries(volumes)
          .map(([path, source]) => `${source} ${path}`)
          .join('\n'),
        HOSTS: hosts.join(' '),
        IDS: `--reuid=${user.uid} --regid=${user.gid} ${groups}`,
      },
    },
  )
  const { lines, line, ended } = follow(child)
  void ended.then(() => rmdirSync(place))
  const pid = () => innerOf(child)
  const terminate = () => void process.kill(pid(), 'SIGTERM')
  const status = () => statusOf(pid())
  // Whoever has changed its user outlives what started it.
  const kill = () => {
    const inner = pids(child)
    if (inner.length === 0) child.kill('SIGKILL')
    for (const each of inner) process.kill(each, 'SIGKILL')
  }
  return { lines, line, ended, pid, status, terminate, kill }
}

/** The process that is number 1 inside: a signal to it is met as in a container. */
function innerOf(child: ChildProcess): number {
  const [inner] = pids(child)
  if (inner === undefined) throw new Error('the cell has ended')
  return inner
}

function pids({ pid, exitCode, signalCode }: ChildProcess): readonly number[] {
  if (exitCode !== null || signalCode !== null) return []
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

function statusOf(pid: number): Readonly<Record<string, readonly string[]>> {
  const fields = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n')
  return Object.fromEntries(
    fields.map(field => {
      const [name, ...words] = field.trim().split(/[:\s]+/)
      return [name!, words]
    }),
  )
}
