import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A control group that kills what takes more memory than it may. */
export interface MemoryGroup {
  readonly folder: string
  /** Bytes that its processes had at most, with their page cache. */
  readonly peak: () => number | undefined
  /** How often something in it was killed for want of memory. */
  readonly kills: () => number
  /** Its processes must have ended. */
  readonly close: () => void
}

const root = '/sys/fs/cgroup'
let made = 0

type Limits = readonly (readonly [file: string, value: string])[]

/** Limits memory (bytes) as a container engine does; answers why that is not possible here where it is not. */
export function openMemoryGroup(bytes: number): MemoryGroup | string {
  const v1 = join(root, 'memory')
  const unified = existsSync(join(root, 'cgroup.controllers'))
  const folder = join(unified ? root : v1, `penstock-${process.pid}-${++made}`)
  try {
    if (unified) writeFileSync(join(root, 'cgroup.subtree_control'), '+memory')
    mkdirSync(folder)
    for (const [name, value] of unified ? limitsOfV2(bytes) : limitsOfV1(bytes)) {
      if (existsSync(join(folder, name))) writeFileSync(join(folder, name), value)
    }
  } catch (error) {
    if (existsSync(folder)) rmdirSync(folder)
    return `memory cannot be limited here (${error instanceof Error ? error.message : error})`
  }
  const read = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  return {
    folder,
    peak: () => {
      const peak = read(unified ? 'memory.peak' : 'memory.max_usage_in_bytes')
      return peak === undefined ? undefined : Number(peak)
    },
    kills: () =>
      Number(
        /^oom_kill (\d+)$/m.exec(read(unified ? 'memory.events' : 'memory.oom_control') ?? '')?.[1] ?? 0,
      ),
    close: () => rmdirSync(folder),
  }
}

const limitsOfV2 = (bytes: number): Limits => [
  ['memory.max', `${bytes}`],
  ['memory.swap.max', '0'],
]

const limitsOfV1 = (bytes: number): Limits => [
  ['memory.limit_in_bytes', `${bytes}`],
  ['memory.memsw.limit_in_bytes', `${bytes}`],
]
