import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { obstacle } from '../container/cell.ts'
import { type MemoryGroup, openMemoryGroup } from '../container/memory.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { bytesOf } from './cluster.ts'
import { objectOf, reasonToSkip } from './helm.ts'
import { daemonPod, type PodSpec, type Probe, podOf } from './pods.ts'
import { openTrial, type Trial } from './trial.ts'

const reason = reasonToSkip ?? obstacle()
if (reason && reason !== reasonToSkip) process.stderr.write(`the chart's daemon is not started: ${reason}\n`)

describe.skipIf(reason)(
  'a release with the values of production, between a played provider and a database',
  () => {
    let borrowed: TestDatabase
    let trial: Trial
    const groups: MemoryGroup[] = []

    beforeAll(async () => {
      borrowed = await cloneDatabase()
      const sandbox = createSandbox({ clock: systemClock, seed: 11 })
      trial = await openTrial({ set: 'production', sandbox, server: borrowed.url })
    })

    afterAll(async () => {
      await trial?.close()
      for (const group of groups) group.close()
      await borrowed?.drop()
    })

    const pod = () => daemonPod(trial.release)

    /** Starts the only container of a pod under its memory limit, as far as this machine allows. */
    function start(spec: PodSpec) {
      const [container] = spec.containers
      const group = openMemoryGroup(bytesOf(container!.resources!.limits!.memory!))
      const memory = typeof group === 'string' ? undefined : group
      if (memory) groups.push(memory)
      else process.stderr.write(`${group}\n`)
      return { cell: trial.node.start(spec, container!, memory), memory }
    }

    test('the daemon refuses a database that nobody has prepared, and says what to do', async () => {
      const { cell } = start(pod())
      expect(await cell.ended).toBe(1)
      expect(cell.lines.join('\n')).toMatch(/the database lacks migrations .*run `penstock migrate up` first/)
    })

    test('the migration prepares it with a role of its own', async () => {
      const { cell } = start(podOf(objectOf(trial.release, 'Job'))!)
      expect(await cell.ended, cell.lines.join('\n')).toBe(0)
      expect(cell.lines.at(-1)).toBe('the database is up to date')
      const [owner] = await ask(
        trial.databaseUrl,
        `select nspowner::regrole::text as role from pg_namespace where nspname = 'classroom'`,
      )
      expect(owner).toEqual({ role: 'penstock_migrate' })
    })

    test('the migration may run again', async () => {
      const { cell } = start(podOf(objectOf(trial.release, 'Job'))!)
      expect(await cell.ended).toBe(0)
      expect(cell.lines).toEqual(['nothing to do: the database is up to date'])
    })

    test('daemon and migration trust the certification authority of the values', async () => {
      for (const spec of [pod(), podOf(objectOf(trial.release, 'Job'))!]) {
        const [container] = spec.containers
        const command = ['node', '--print', "tls.getCACertificates('extra').length"]
        const { ended, lines } = trial.node.start(spec, { ...container!, command, args: [] })
        expect({ code: await ended, lines }).toEqual({ code: 0, lines: ['1'] })
      }
    })

    test('the daemon passes its probes, drains, stands the test of the release, and ends in time', async () => {
      const spec = pod()
      const { cell, memory } = start(spec)
      const [container] = spec.containers
      await eventually(container!.startupProbe!)
      await eventually(container!.readinessProbe!)
      expect(await answer(container!.livenessProbe!)).toBe(200)

      const status = cell.status()
      expect(status).toMatchObject({
        Uid: Array(4).fill(`${spec.securityContext!.runAsUser}`),
        Gid: Array(4).fill(`${spec.securityContext!.runAsGroup}`),
        Groups: [`${spec.securityContext!.fsGroup}`],
        CapEff: ['0000000000000000'],
        NoNewPrivs: ['1'],
      })
      await rows('classroom.room_event')

      const test = podOf(objectOf(trial.release, 'Pod'))!
      for (const each of test.containers) {
        const tried = trial.node.start(test, each)
        expect(await tried.ended, `${each.name}: ${tried.lines.join('\n')}`).toBe(0)
      }

      const asked = systemClock.monotonic()
      cell.terminate()
      expect(await cell.ended).toBe(0)
      expect(systemClock.monotonic() - asked).toBeLessThan(spec.terminationGracePeriodSeconds! * 1_000)
      expect(cell.lines.at(-1)).toMatch(/"msg":"stopped"/)
      expect(memory?.kills() ?? 0).toBe(0)
      // Secrets are files that only its group reads, so there is nothing to warn of.
      expect(
        cell.lines.filter(line => /every user of this machine|read-only file system/i.test(line)),
      ).toEqual([])
    })

    function answer({ httpGet }: Probe): Promise<number> {
      return fetch(`${trial.url}${httpGet.path}`).then(
        ({ status }) => status,
        () => 0,
      )
    }

    /** Asks as often as the cluster would before it gives up; the machine may be busy, so three times as long. */
    async function eventually(probe: Probe): Promise<void> {
      for (let left = 3 * probe.failureThreshold * probe.periodSeconds * 10; left > 0; left--) {
        if ((await answer(probe)) === 200) return
        await systemClock.sleep(100)
      }
      throw new Error(`${probe.httpGet.path} does not answer 200`)
    }

    async function rows(table: string): Promise<void> {
      for (let left = 600; left > 0; left--) {
        const [row] = await ask(trial.databaseUrl, `select count(*)::int as count from ${table}`)
        if (Number(row!.count) > 0) return
        await systemClock.sleep(100)
      }
      throw new Error(`no row in ${table}`)
    }
  },
)
