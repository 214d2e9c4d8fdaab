import { describe, expect, it } from 'vitest'
import { shown, stageRoom, success, uploaded, verdict, wrong } from './changing-play.ts'
import { minutes, at as reading } from './play.ts'

const text = expect.any(String)
const operator = { userUuid: text, userName: text, role: expect.any(Number) }

function stageFiles(options: Parameters<typeof stageRoom>[0] = {}) {
  const stage = stageRoom({ profile: { kind: 'idle', rooms: 1 }, ...options })
  const list = async () =>
    (await stage.get(reading(stage.roomUuid).resources)).body.data as unknown as Record<string, unknown>[]
  return { ...stage, list }
}

describe('uploading a resource', () => {
  it('gives cmd 1003 with action 1, and operation 8 lists it', async () => {
    const { send, at, told, list, clock } = stageFiles()
    const answer = await send('PUT', at.resource('plan'), uploaded)
    const resource = { resourceUuid: 'plan', ...uploaded, updateTime: clock.now() }
    expect([verdict(answer), answer.body.data]).toEqual([success, [resource]])
    expect(shown(told())).toEqual([[1003, { resources: [resource], operator, action: 1 }]])
    expect(await list()).toEqual([resource])
  })

  it('again replaces the resource whole', async () => {
    const { send, at, told, list } = stageFiles()
    await send('PUT', at.resource('plan'), { ...uploaded, conversion: {} })
    await send('PUT', at.resource('plan'), { size: 1, ext: 'png', url: 'u' })
    const resource = { resourceUuid: 'plan', size: 1, ext: 'png', url: 'u' }
    expect(await list()).toEqual([{ resourceName: 'plan', updateTime: expect.any(Number), ...resource }])
    expect(shown(told())[1]).toMatchObject([1003, { resources: [resource], action: 1 }])
  })

  it('of several kinds keeps them in order', async () => {
    const { send, at, list } = stageFiles()
    for (const uuid of ['b', 'a', 'c d/#?%']) await send('PUT', at.resource(uuid), uploaded)
    expect((await list()).map(({ resourceUuid }) => resourceUuid)).toEqual(['b', 'a', 'c d/#?%'])
  })

  it.each(['size', 'ext', 'url'])('without %s says 400', async name => {
    const { send, at, told } = stageFiles()
    const { [name as 'size']: _, ...rest } = uploaded
    expect(verdict(await send('PUT', at.resource('plan'), rest))).toEqual(wrong)
    expect(verdict(await send('PUT', at.resource('plan')))).toEqual(wrong)
    expect(told()).toEqual([])
  })

  it.each([
    { size: '2048' },
    { size: null },
    { ext: 1 },
    { ext: ['pdf'] },
    { url: {} },
    { url: null },
    { resourceName: 7 },
    { resourceName: null },
    { conversion: true },
    { conversion: 'png' },
    { conversion: [] },
    { conversion: null },
  ])('with %j says 400', async wrongField => {
    const { send, at, told } = stageFiles()
    expect(verdict(await send('PUT', at.resource('plan'), { ...uploaded, ...wrongField }))).toEqual(wrong)
    expect(told()).toEqual([])
  })

  it('keeps resourceUuid and resourceName under 64 bytes', async () => {
    const { send, at } = stageFiles()
    const named = (resourceName: string) => ({ ...uploaded, resourceName })
    for (const long of ['x'.repeat(64), 'é'.repeat(32), '🗎'.repeat(16)]) {
      expect(verdict(await send('PUT', at.resource(long), uploaded))).toEqual(wrong)
      expect(verdict(await send('PUT', at.resource('plan'), named(long)))).toEqual(wrong)
    }
    for (const short of ['x'.repeat(63), 'é'.repeat(31)]) {
      expect(verdict(await send('PUT', at.resource(short), named(short)))).toEqual(success)
    }
  })

  it('with a conversion has a task, whose progress each event tells until it is done', async () => {
    const { send, at, told, list, clock } = stageFiles()
    const answer = await send('PUT', at.resource('plan'), { ...uploaded, conversion: { type: 'dynamic' } })
    const task = { taskUuid: text, taskToken: text }
    expect(answer.body.data).toEqual([
      expect.objectContaining({ ...task, taskProgress: expect.objectContaining({ convertedPercentage: 0 }) }),
    ])
    await clock.advance(30 * minutes)
    const steps = told().map(({ cmd, data }) => {
      const { resources, action } = data as { resources: Record<string, never>[]; action: number }
      const [{ taskUuid, taskProgress }] = resources as unknown as [
        { taskUuid: string; taskProgress: { convertedPercentage: number } },
      ]
      return { cmd, action, taskUuid, done: taskProgress.convertedPercentage }
    })
    expect(steps.length).toBeGreaterThan(1)
    expect(new Set(steps.map(({ taskUuid }) => taskUuid)).size).toBe(1)
    expect(steps.every(({ cmd, action }) => cmd === 1003 && action === 1)).toBe(true)
    const shares = steps.map(({ done }) => done)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect([shares[0], shares.at(-1)]).toEqual([0, 100])
    expect((await list())[0]).toMatchObject({ taskProgress: { convertedPercentage: 100 } })
  })

  it('again, or a deletion, ends the conversion that was under way', async () => {
    const { send, at, told, clock } = stageFiles()
    const converted = { ...uploaded, conversion: {} }
    await send('PUT', at.resource('replaced'), converted)
    await send('PUT', at.resource('replaced'), uploaded)
    await send('PUT', at.resource('deleted'), converted)
    await send('DELETE', at.resources, { resourceUuids: ['deleted'] })
    await clock.advance(30 * minutes)
    expect(told().length).toBe(4)
  })

  it('goes on converting when the class is over, until the room is forgotten', async () => {
    const { send, at, told, list, clock, sandbox, view } = stageFiles()
    await send('PUT', at.resource('plan'), { ...uploaded, conversion: {} })
    await send('PUT', at.state(2))
    await clock.advance(30 * minutes)
    expect((await list())[0]).toMatchObject({ taskProgress: { convertedPercentage: 100 } })
    expect(told().at(-1)!.cmd).toBe(1003)
    await clock.advance(40 * minutes)
    expect(view().destroyedAt).toBeDefined()
    const made = sandbox.status().apps[0]!.events.made
    await clock.advance(60 * minutes)
    expect(sandbox.status().apps[0]!.events.made).toBe(made)
  })
})

it('a conversion that is under way when the room is forgotten tells of nothing more', async () => {
  const { send, at, told, clock, view } = stageFiles({ switches: { roomMemorySeconds: 30 } })
  await send('PUT', at.state(2))
  await clock.advance(29_000)
  await send('PUT', at.resource('plan'), { ...uploaded, conversion: {} })
  await clock.advance(2_000)
  expect(view().destroyedAt).toBeDefined()
  const { length } = told()
  await clock.advance(30 * minutes)
  expect(told().length).toBe(length)
})

describe('uploadAnswer', () => {
  it('array: data holds all public resources of the room', async () => {
    const { send, at, list } = stageFiles()
    await send('PUT', at.resource('a'), uploaded)
    const { body } = await send('PUT', at.resource('b'), uploaded)
    expect(body.data).toEqual(await list())
    expect(body.data).toMatchObject([{ resourceUuid: 'a' }, { resourceUuid: 'b' }])
  })

  it('object: data is the uploaded one', async () => {
    const { send, at, list } = stageFiles({ switches: { uploadAnswer: 'object' } })
    await send('PUT', at.resource('a'), uploaded)
    const { body } = await send('PUT', at.resource('b'), { ...uploaded, conversion: {} })
    expect(body.data).toEqual((await list())[1])
  })
})

describe('deleting resources', () => {
  async function withFiles() {
    const stage = stageFiles()
    for (const uuid of ['a', 'b', 'c']) await stage.send('PUT', stage.at.resource(uuid), uploaded)
    return { ...stage, told: () => stage.told().slice(3) }
  }

  it('gives one cmd 1003 with action 2 and all that was deleted, and operation 8 lists the rest', async () => {
    const { send, at, told, list } = await withFiles()
    const [a, , c] = await list()
    expect(verdict(await send('DELETE', at.resources, { resourceUuids: ['c', 'a', 'c'] }))).toEqual(success)
    expect(shown(told())).toEqual([[1003, { resources: [c, a], operator, action: 2 }]])
    expect((await list()).map(({ resourceUuid }) => resourceUuid)).toEqual(['b'])
  })

  it('of none succeeds and tells of nothing', async () => {
    const { send, at, told, list } = await withFiles()
    expect(verdict(await send('DELETE', at.resources, { resourceUuids: [] }))).toEqual(success)
    expect([told(), (await list()).length]).toEqual([[], 3])
  })

  it('of one that is not there says 404 without a code, deletes none, and breaks no rule', async () => {
    const { send, at, told, list, sandbox } = await withFiles()
    for (const resourceUuids of [['d'], ['a', 'd'], ['']]) {
      expect(verdict(await send('DELETE', at.resources, { resourceUuids }))).toEqual([404, undefined])
    }
    expect([told(), (await list()).length]).toEqual([[], 3])
    expect(sandbox.status().violations).toBe(0)
  })

  it.each([
    undefined,
    {},
    { resourceUuids: 'a' },
    { resourceUuids: { 0: 'a' } },
    { resourceUuids: [1] },
    { resourceUuids: ['a', null] },
    { resourceUuids: null },
    { resourceUuids: ['a', 'x'.repeat(64)] },
    { resourceUuids: ['é'.repeat(32)] },
  ])('with %j says 400', async body => {
    const { send, at, told } = await withFiles()
    expect(verdict(await send('DELETE', at.resources, body))).toEqual(wrong)
    expect(told()).toEqual([])
  })
})
