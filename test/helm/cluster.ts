import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cell, type CellUser, startCell } from '../container/cell.ts'
import type { Image } from '../container/image.ts'
import type { MemoryGroup } from '../container/memory.ts'
import type { Release } from './helm.ts'
import type { Container, PodSpec, Volume } from './pods.ts'

/** The keys of each Secret, by name. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>

/** What a node of a cluster does for the pods of a release: makes their volumes and starts their containers. */
export interface Node {
  /** Starts a container just as its description says; `name` is that of its pod. */
  readonly start: (pod: PodSpec, container: Container, memory?: MemoryGroup, name?: string) => Cell
  /** Ends what still runs. */
  readonly close: () => Promise<void>
}

export interface NodeOptions {
  readonly release: Release
  readonly image: Image
  readonly secrets: Secrets
}

export function openNode({ release, image, secrets }: NodeOptions): Node {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-node-'))
  chmodSync(folder, 0o755)
  const cells: Cell[] = []
  let made = 0
  const mount = (volume: Volume, group: number | undefined) => {
    const path = join(folder, `${volume.name}-${made++}`)
    mkdirSync(path, { mode: 0o755 })
    const { files, mode } = contentOf(volume, release, secrets)
    for (const [name, text] of Object.entries(files)) {
      const file = join(path, name)
      writeFileSync(file, text)
      if (group !== undefined) chownSync(file, 0, group)
      chmodSync(file, mode)
    }
    return path
  }
  return {
    start: (pod, container, memory, name) => {
      const folders = new Map(
        (pod.volumes ?? []).map(volume => [volume.name, mount(volume, pod.securityContext?.fsGroup)]),
      )
      const mounts = container.volumeMounts ?? []
      const cell = startCell({
        image,
        args: container.args ?? image.cmd,
        entrypoint: container.command ?? image.entrypoint,
        env: Object.fromEntries((container.env ?? []).map(({ name, value = '' }) => [name, value])),
        volumes: Object.fromEntries(mounts.map(({ name, mountPath }) => [mountPath, folders.get(name)!])),
        hosts: release.objects.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name),
        user: userOf(pod, image),
        ...{ memory, name },
      })
      cells.push(cell)
      return cell
    },
    close: async () => {
      for (const cell of cells) cell.kill()
      await Promise.all(cells.map(({ ended }) => ended))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function userOf({ securityContext = {} }: PodSpec, image: Image): CellUser {
  const { runAsUser, runAsGroup, fsGroup } = securityContext
  return {
    uid: runAsUser ?? image.user.uid,
    gid: runAsGroup ?? image.user.gid,
    groups: fsGroup === undefined ? [] : [fsGroup],
  }
}

interface Content {
  readonly files: Readonly<Record<string, string>>
  readonly mode: number
}

/** The files of a volume; a kind of volume that the chart does not have is an error. */
function contentOf({ name, configMap, secret }: Volume, release: Release, secrets: Secrets): Content {
  if (configMap) {
    const found = release.objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap.name,
    )
    if (!found?.data) throw new Error(`the volume ${name} needs a ConfigMap ${configMap.name}`)
    return { files: found.data, mode: 0o644 }
  }
  const keys = secret && secrets[secret.secretName]
  if (!keys) throw new Error(`the volume ${name} needs a Secret ${secret?.secretName}`)
  const mode = secret.defaultMode ?? 0o644
  if (!secret.items) return { files: keys, mode }
  const picked = secret.items.map(({ key, path }) => {
    if (keys[key] === undefined) throw new Error(`the Secret ${secret.secretName} has no key ${key}`)
    return [path, keys[key]] as const
  })
  return { files: Object.fromEntries(picked), mode }
}

/** Bytes of a quantity such as 256Mi. */
export function bytesOf(quantity: string | number): number {
  const [, number, unit = ''] = /^([\d.]+)(Ki|Mi|Gi)?$/.exec(`${quantity}`) ?? []
  if (number === undefined) throw new Error(`${quantity} is no quantity of memory`)
  return Number(number) * ({ Ki: 1_024, Mi: 1_048_576, Gi: 1_073_741_824 }[unit] ?? 1)
}
