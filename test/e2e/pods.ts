import { obstacle } from '../container/cell.ts'
import { buildImage } from '../container/image.ts'
import { type MemoryGroup, openMemoryGroup } from '../container/memory.ts'
import { bytesOf, type Node, openNode } from '../helm/cluster.ts'
import { reasonToSkip, render } from '../helm/helm.ts'
import { daemonPod } from '../helm/pods.ts'
import { freePort } from '../helm/trial.ts'
import type { DaemonProcess, LogLine } from './daemon.ts'
import type { Settings } from './processes-stage.ts'

/** Daemons as the chart has a node of a cluster run them: image, command line, user, root, files and limits. */
export interface Pods {
  readonly start: (settings: Settings) => Promise<DaemonProcess>
  readonly figures: () => PodFigures
  readonly close: () => Promise<void>
}

export interface PodFigures {
  /** What of it is limited, or why nothing is. */
  readonly limits: string
  readonly commandLine: string
  readonly pods: number
  /** Most memory that one of them had, page cache included; null where nobody counts it. */
  readonly mostMiB: number | null
  /** How often one was killed because it wanted more. */
  readonly kills: number
}

const mebibyte = 1_048_576
const secretFile = (name: string) => `/run/secrets/penstock/${name}`
/** Of each container. The chart limits no processors by itself. */
const limits = { cpu: '1', memory: '256Mi' } as const

/** Throws where helm or the machine has not what it takes. All daemons write to the database at `url`. */
export async function openPods(url: string): Promise<Pods> {
  const reason = reasonToSkip ?? obstacle()
  if (reason) throw new Error(`the chart's pods cannot be started: ${reason}`)
  const image = await buildImage()
  const nodes: Node[] = []
  const groups: MemoryGroup[] = []
  let told = ''
  let commandLine = ''

  function openGroup(): MemoryGroup | undefined {
    const group = openMemoryGroup(bytesOf(limits.memory), Number(limits.cpu))
    told = typeof group === 'string' ? group : `${limits.memory} and ${limits.cpu} core each`
    if (typeof group === 'string') return undefined
    groups.push(group)
    return group
  }

  return {
    start: async settings => {
      const { values, secrets } = await inFiles(settings, url)
      const release = render('default', { ...values, resources: { limits } })
      const node = openNode({ release, image, secrets: { penstock: secrets } })
      nodes.push(node)
      const name = `school-penstock-${nodes.length}`
      const pod = daemonPod(release)
      const [container] = pod.containers
      commandLine = [...image.entrypoint, ...(container!.args ?? image.cmd)].join(' ')
      const cell = node.start(pod, container!, openGroup(), name)
      const end = async (how: () => void) => {
        how()
        return (await cell.ended) ?? 'gone'
      }
      return {
        get pid() {
          return cell.pid()
        },
        get lines() {
          return cell.lines.flatMap(text => (text.startsWith('{') ? [JSON.parse(text) as LogLine] : []))
        },
        isOwner: owner => owner.startsWith(`${name}/`),
        errors: () => cell.lines.filter(text => !text.startsWith('{')).join('\n'),
        ready: cell.line(/"msg":"draining"/).then(line => String((JSON.parse(line) as LogLine).url)),
        kill: async () => void (await end(cell.kill)),
        terminate: () => end(cell.terminate),
      }
    },
    figures: () => {
      const peaks = groups.flatMap(group => group.peak() ?? [])
      return {
        ...{ limits: told, commandLine, pods: nodes.length },
        mostMiB: peaks.length > 0 ? Math.round(Math.max(...peaks) / mebibyte) : null,
        kills: groups.reduce((sum, group) => sum + group.kills(), 0),
      }
    },
    close: async () => {
      for (const node of nodes) await node.close()
      for (const group of groups) group.close()
      await image.remove()
    },
  }
}

/** The values of a release that is told so: what is secret stands in files of a Secret. Each has a port of its own, as they share a network. */
async function inFiles({ database, apps, ...settings }: Settings, url: string) {
  const secrets: Record<string, string> = { 'database-url': url }
  const fileOf = (name: string, value: string) => {
    secrets[name] = value
    return secretFile(name)
  }
  const { url: _, ...sessions } = database
  const config = {
    ...settings,
    ...{ database: sessions, http: { listen: `0.0.0.0:${await freePort()}` } },
    apps: apps.map(({ rest, classroom, ...app }) => ({
      ...app,
      rest: { keyFile: fileOf('rest-key', rest!.key), secretFile: fileOf('rest-secret', rest!.secret) },
      classroom: { uid: classroom.uid, tokenFile: fileOf(`${app.id}.token`, classroom.token) },
    })),
  }
  return { values: { config }, secrets }
}
