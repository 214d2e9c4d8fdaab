import { describe, expect, it } from 'vitest'
import { cases, noUser, stageRoom, success, verdict, wrong } from './changing-play.ts'

type Stage = ReturnType<typeof stageRoom>

interface Owner {
  readonly path: (stage: Stage) => string
  readonly held: (stage: Stage) => object | undefined
}

const owners: Readonly<Record<string, Owner>> = {
  room: { path: ({ at }) => at.properties, held: ({ view }) => view().properties },
  user: {
    path: ({ at, view }) => at.userProperties(view().present[0]!),
    held: ({ view }) => view().userProperties[view().present[0]!],
  },
  extApp: {
    path: ({ at }) => at.extAppProperties('clock'),
    held: ({ view }) => view().extApps.clock?.properties,
  },
}
const each = Object.entries(owners)

describe.each(each)('properties of a %s', (_, { path, held }) => {
  it('are set by name; those that are not named stay', async () => {
    const stage = stageRoom()
    const put = (properties: object) => stage.send('PUT', path(stage), { properties })
    expect(verdict(await put({ theme: 'dark', seats: [1, 2], 'a.b': { deep: null } }))).toEqual(success)
    expect(verdict(await put({ theme: 'light', extra: false }))).toEqual(success)
    expect(held(stage)).toEqual({ theme: 'light', seats: [1, 2], 'a.b': { deep: null }, extra: false })
    expect(verdict(await put({}))).toEqual(success)
    expect(Object.keys(held(stage)!).length).toBe(4)
  })

  it('are deleted by name; a name that is not there is passed over', async () => {
    const stage = stageRoom()
    await stage.send('PUT', path(stage), { properties: { a: 1, b: 2, c: 3 } })
    const removal = { properties: ['a', 'c', 'nothing', 'a'] }
    expect(verdict(await stage.send('DELETE', path(stage), removal))).toEqual(success)
    expect(held(stage)).toEqual({ b: 2 })
    expect(verdict(await stage.send('DELETE', path(stage), { properties: [] }))).toEqual(success)
    expect(held(stage)).toEqual({ b: 2 })
  })

  it('may have any name', async () => {
    const stage = stageRoom()
    const body = '{"properties":{"__proto__":{"polluted":1},"constructor":2,"":3}}'
    expect(verdict(await stage.send('PUT', path(stage), body))).toEqual(success)
    expect(Object.keys(held(stage)!).sort()).toEqual(['', '__proto__', 'constructor'])
    expect('polluted' in {}).toBe(false)
    await stage.send('DELETE', path(stage), { properties: ['__proto__'] })
    expect(Object.keys(held(stage)!).sort()).toEqual(['', 'constructor'])
  })

  it('change without an event', async () => {
    const stage = stageRoom()
    await stage.send('PUT', path(stage), { properties: { a: 1 }, cause: { why: 'test' } })
    await stage.send('DELETE', path(stage), { properties: ['a'], cause: {} })
    expect(stage.told()).toEqual([])
    expect(stage.view().causes).toEqual([{ why: 'test' }, {}])
  })

  it.each([
    undefined,
    {},
    { properties: ['a'] },
    { properties: 'a' },
    { properties: null },
    { properties: 1 },
    { properties: { a: 1 }, cause: 'because' },
    { properties: { a: 1 }, cause: [] },
    { properties: { a: 1 }, cause: null },
  ])('an update with %j says 400 and changes nothing', async body => {
    const stage = stageRoom()
    const before = stage.view()
    expect(verdict(await stage.send('PUT', path(stage), body))).toEqual(wrong)
    expect(stage.view()).toEqual(before)
  })

  it.each([
    undefined,
    {},
    { properties: { a: 1 } },
    { properties: 'a' },
    { properties: null },
    { properties: [1] },
    { properties: ['a', {}] },
    { properties: ['a'], cause: 'because' },
    { properties: ['a'], cause: 1 },
  ])('a deletion with %j says 400 and changes nothing', async body => {
    const stage = stageRoom()
    await stage.send('PUT', path(stage), { properties: { a: 1 } })
    const before = stage.view()
    expect(verdict(await stage.send('DELETE', path(stage), body))).toEqual(wrong)
    expect(stage.view()).toEqual(before)
  })
})

describe('properties of a user', () => {
  const bodies = [
    ['PUT', { properties: { a: 1 } }],
    ['DELETE', { properties: ['a'] }],
  ] as const

  it.each(bodies)('%s says 404 and 20404200 to a user who never came', async (method, body) => {
    const { send, at, view, sandbox } = stageRoom()
    expect(verdict(await send(method, at.userProperties('nobody'), body))).toEqual(noUser)
    expect(view().userProperties).toEqual({})
    expect(sandbox.status().violations).toBe(0)
  })

  it.each(bodies)('%s knows a user who has left', async (method, body) => {
    const { send, at, students } = stageRoom()
    const [student] = students()
    await send('POST', at.exit(student!), {})
    expect(verdict(await send(method, at.userProperties(student!), body))).toEqual(success)
  })

  it('belong to one user each', async () => {
    const { send, at, students, view } = stageRoom()
    const [first, second] = students()
    await send('PUT', at.userProperties(first!), { properties: { a: 1 } })
    await send('PUT', at.userProperties(second!), { properties: { a: 2 } })
    expect(view().userProperties).toEqual({ [first!]: { a: 1 }, [second!]: { a: 2 } })
  })
})

describe('an extApp', () => {
  it.each([0, 1])('is set to the state %i, which stays until it is set again', async state => {
    const { send, at, view } = stageRoom()
    const path = at.extAppProperties('clock')
    await send('PUT', path, { properties: { a: 1 } })
    expect(view().extApps.clock).toEqual({ properties: { a: 1 }, state: undefined })
    expect(verdict(await send('PUT', path, { properties: {}, common: { state } }))).toEqual(success)
    await send('PUT', path, { properties: { b: 2 } })
    await send('DELETE', path, { properties: ['a'], common: { state: 1 - state } })
    expect(view().extApps.clock).toEqual({ properties: { b: 2 }, state })
  })

  it.each([
    { state: 2 },
    { state: -1 },
    { state: 0.5 },
    { state: '1' },
    { state: true },
    { state: null },
    {},
    1,
    [],
    null,
  ])('says 400 to common %j', async common => {
    const { send, at, view } = stageRoom()
    const body = { properties: { a: 1 }, common }
    expect(verdict(await send('PUT', at.extAppProperties('clock'), body))).toEqual(wrong)
    expect(view().extApps).toEqual({})
  })

  it('is one of several', async () => {
    const { send, at, view } = stageRoom()
    await send('PUT', at.extAppProperties('clock'), { properties: { a: 1 } })
    await send('PUT', at.extAppProperties('dice/6'), { properties: { a: 2 } })
    expect(view().extApps).toMatchObject({
      clock: { properties: { a: 1 } },
      'dice/6': { properties: { a: 2 } },
    })
  })
})

it.each([
  ['updateUserProperties', 'userProperties'],
  ['deleteUserProperties', 'userProperties'],
  ['updateExtAppProperties', 'extAppProperties'],
  ['deleteExtAppProperties', 'extAppProperties'],
] as const)('%s says 400 to an ID of 64 bytes', async (name, path) => {
  const { send, at } = stageRoom()
  const { method, body } = cases.find(one => one.name === name)!
  for (const uuid of ['x'.repeat(64), 'é'.repeat(32)]) {
    expect(verdict(await send(method, at[path](uuid), body))).toEqual(wrong)
  }
  expect(verdict(await send(method, at[path]('é'.repeat(31)), body))).not.toEqual(wrong)
})
