import { expect, it } from 'vitest'
import { Findings } from './asked.ts'
import { judgeSpent } from './budgets.ts'
import type { Examination } from './examination.ts'

/** What is said where 96 requests of an app were told as such a share of what may be asked; another one asks nothing. */
async function judge(value: number, keys: Readonly<Record<'one' | 'other', string>>) {
  const rows = async () => [{ group: 'realtime', apps: ['one'], all: 96, before: 96 }]
  const known = Object.entries(keys).map(([id, key]) => ({ id, rest: { key } }))
  const examination = {
    ...{ rows, end: 0, askers: [{}], sandbox: { settings: { apps: known } } },
    apps: [
      { id: 'one', plan: 'enterprise' },
      { id: 'other', plan: 'premium' },
    ],
  } as unknown as Examination
  const found = new Findings()
  await judgeSpent(found, [{ labels: { group: 'realtime' }, value }], examination)
  return found.list().map(({ text }) => text)
}

it('holds a budget against the strictest plan of all apps with the key, also of one that asks nothing', async () => {
  expect(await judge(96 / 480, { one: 'key', other: 'key' })).toEqual([])
  expect(await judge(96 / 1_440, { one: 'key', other: 'key' })).toHaveLength(1)
  expect(await judge(96 / 1_440, { one: 'key', other: 'another' })).toEqual([])
})
