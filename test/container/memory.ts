import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A control group that kills what takes more memory than it may, and lets nobody have more of the processors. */
export interface MemoryGroup {
  /** A process joins by each of them. */
  readonly folders: readonly string[]
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

/**
 * Limits memory (bytes) and, where told, processors (cores) as a container engine does; answers why that is not possible
 * here where it is not.
 */
export function openMemoryGroup(bytes: number, cores?: number): MemoryGroup | string {
  const unified = existsSync(join(root, 'cgroup.controllers'))
  const name = `penstock-${process.pid}-${++made}`
  const folder = join(unified ? root : join(root, 'memory'), name)
  const ofCores = unified || cores === undefined ? [] : [join(root, 'cpu', name)]
  const folders = [folder, ...ofCores]
  try {
    if (unified) writeFileSync(join(root, 'cgroup.subtree_control'), cores ? '+memory +cpu' : '+memory')
    for (const each of folders) mkdirSync(each)
    for (const [file, value] of unified ? limitsOfV2(bytes, cores) : limitsOfV1(bytes))
      if (existsSync(join(folder, file))) writeFileSync(join(folder, file), value)
    for (const each of ofCores) writeFileSync(join(each, 'cpu.cfs_quota_us'), `${cores! * PERIOD_US}`)
  } catch (error) {
    for (const each of folders) if (existsSync(each)) rmdirSync(each)
    return `memory and processors cannot be limited here (${error instanceof Error ? error.message : error})`
  }
  const read = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  return {
    folders,
    peak: () => {
      const peak = read(unified ? 'memory.peak' : 'memory.max_usage_in_bytes')
      return peak === undefined ? undefined : Number(peak)
    },
    kills: () =>
      Number(
        /^oom_kill (\d+)$/m.exec(read(unified ? 'memory.events' : 'memory.oom_control') ?? '')?.[1] ?? 0,
      ),
    close: () => {
      for (const each of folders) rmdirSync(each)
    },
  }
}

/** Of so many microseconds of a core a group may have its cores' share, as the system has it by default. */
const PERIOD_US = 100_000

const limitsOfV2 = (bytes: number, cores: number | undefined): Limits => [
  ['memory.max', `${bytes}`],
  ['memory.swap.max', '0'],
  ...(cores === undefined ? [] : [['cpu.max', `${cores * PERIOD_US} ${PERIOD_US}`] as const]),
]

const limitsOfV1 = (bytes: number): Limits => [
  ['memory.limit_in_bytes', `${bytes}`],
  ['memory.memsw.limit_in_bytes', `${bytes}`],
]
