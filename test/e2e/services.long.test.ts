import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, demoApp, type SchoolProfile } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { penstock } from '../commands/penstock.ts'
import { ask } from '../support/embedded.ts'
import { openSetting, type Setting } from './setting.ts'

const school: SchoolProfile = {
  ...{ kind: 'school', classes: 3, students: 4, lessonMinutes: 4, breakMinutes: 2, eventsPerMinute: 20 },
  historyMinutes: 14,
}
const patience = { timeout: 120_000, interval: 100 }

interface Alone {
  readonly services: readonly ('analytics' | 'players')[]
  /** Operations that are asked for at least. */
  readonly operations: readonly string[]
  /** Tables that have rows in the end. */
  readonly tables: readonly string[]
}

const alone: readonly Alone[] = [
  { services: ['analytics'], operations: ['callSearch'], tables: ['analytics.call'] },
  { services: ['players'], operations: ['listPlayers'], tables: ['players.cloud_player'] },
]

describe.concurrent('a daemon without classrooms', () => {
  for (const { services, operations, tables } of alone) {
    describe(`that drains ${services.join(' and ')}`, () => {
      const state = {} as { setting: Setting }
      beforeAll(async () => {
        state.setting = await openSetting({
          makeSandbox: () => createSandbox({ clock: systemClock, seed: 2, profile: school }),
          configOf: ({ databaseUrl, providerUrl }) => ({
            database: { url: databaseUrl, poolSize: 2 },
            http: { listen: '127.0.0.1:0' },
            provider: Object.fromEntries(services.map(name => [name, { url: providerUrl }])),
            apps: [{ id: demoApp.id, region: 'ap', plan: demoApp.plan, rest: demoApp.rest }],
          }),
        })
      })
      afterAll(() => state.setting?.close())

      it('asks the other services alone, stores what they serve, and complains of nothing', async () => {
        const { setting } = state
        for (const command of ['check', 'forecast']) {
          const { code, stdout, stderr } = await penstock([command, '--config', setting.config])
          expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' })
          expect(stdout).toContain('classrooms are off: provider.classroom.url is not given')
        }
        const daemon = setting.start()
        await daemon.ready
        const rows = () =>
          ask(setting.databaseUrl, tables.map(each => `select 1 from ${each}`).join(' union '))
        await expect.poll(rows, patience).not.toEqual([])
        const { code, stdout } = await penstock(['status', '--config', setting.config])
        expect(code).toBe(0)
        expect(stdout).not.toMatch(/app-events|room-events/)
        expect(await daemon.terminate()).toBe(0)
        expect(daemon.lines.filter(({ level }) => level !== 'info')).toEqual([])
        const { arrivals } = setting.sandbox
        const asked = new Set(arrivals.list(0, arrivals.count).map(({ operation }) => operation))
        expect([...asked]).toEqual(expect.arrayContaining([...operations]))
        expect(
          [...asked].filter(name => /room|recording|resource|appEvents|poll|quiz/i.test(`${name}`)),
        ).toEqual([])
        expect(setting.sandbox.status().violations).toBe(0)
      })
    })
  }
})
