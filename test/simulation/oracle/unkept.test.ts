import { expect, it } from 'vitest'
import { examineUnkept, withoutPeople } from './unkept.ts'

const ada = { userUuid: 'user-1', userName: 'Ada Nowak', role: 2 }
const event = { kind: 'event', cmd: 3, data: { fromUser: ada, message: 'what is a group?', type: 1 } }
const item = { kind: 'widget', item: { operator: ada, changeProperties: { state: 1 } } }

/** What is found where one table holds this. */
async function judge(row: object, isDiscreet = true): Promise<readonly string[]> {
  const rows = (text: string) =>
    Promise.resolve(text.includes('pg_class') ? [{ name: 'classroom.any' }] : [{ text: JSON.stringify(row) }])
  const sandbox = { truth: () => [event, item].values() }
  const found = await examineUnkept({ rows, sandbox, isDiscreet } as never)
  return found.map(({ text }) => text)
}

it('of a message its writer stays, and of people their IDs', () => {
  expect(withoutPeople(event)).toEqual({
    ...{ kind: 'event', cmd: 3 },
    data: { fromUser: { ...ada, userName: null }, message: '', type: 1 },
  })
  expect(withoutPeople(item.item).operator).toEqual({ ...ada, userName: null })
})

it('a name and a message are found wherever they stand', async () => {
  expect(await judge({ user: 'user-1' })).toEqual([])
  expect(await judge({ operator: 'Ada Nowak' })).toHaveLength(1)
  expect(await judge({ data: { message: 'what is a group?' } })).toHaveLength(1)
  expect(await judge({ body: `\\x${Buffer.from('by Ada Nowak').toString('hex')}` })).toHaveLength(1)
})

it('where they are kept nothing is said', async () => {
  expect(await judge({ operator: 'Ada Nowak' }, false)).toEqual([])
})
