import { describe, expect, it } from 'vitest'
import { at, listing, minutes, play } from './play.ts'

/** One day of a small school holds every kind of event. */
async function eventsOf(cmd: number) {
  const { linesOf } = play()
  return linesOf('event').filter(event => event.cmd === cmd)
}

const text = expect.any(String)
const number = expect.any(Number)
const list = expect.any(Array)
const user = { userUuid: text, userName: text, role: number }

/** The document's table of events: fields of data by cmd. */
describe('data of an event', () => {
  it.each([
    [1, { startTime: number, state: number }],
    [3, { fromUser: user, message: text, type: 1 }],
    [20, { total: number, onlineUsers: list, offlineUsers: list }],
    [1003, { resources: list, operator: user, action: number }],
    [1101, { rewardDetails: [{ userUuid: text, changedReward: number, total: number }], updateTime: number }],
    [1501, { acceptedUsers: list, addAcceptedUsers: list, removeAcceptedUsers: list }],
    [1502, { progressUsers: list, addProgressUsers: list, removeProgressUsers: list }],
  ])('%i has the fields of the document and no others', async (cmd, shape) => {
    const events = await eventsOf(cmd)
    expect(events.length).toBeGreaterThan(0)
    for (const { data } of events) expect(data).toEqual(shape)
  })

  it('1001 has IDs with the start alone', async () => {
    const events = await eventsOf(1001)
    const started = { recordId: text, sid: text, resourceId: text, state: 1, startTime: number }
    const stopped = { state: 2, startTime: number }
    expect(events.some(({ data }) => 'recordId' in data)).toBe(true)
    expect(events.some(({ data }) => !('recordId' in data))).toBe(true)
    for (const { data } of events) expect(data).toEqual('recordId' in data ? started : stopped)
  })

  it('1003 tells of resources added, converted step by step, and deleted', async () => {
    const changes = (await eventsOf(1003)).map(({ data }) => data as { action: number; resources: object[] })
    expect(new Set(changes.map(change => change.action))).toEqual(new Set([1, 2]))
    const converted = changes
      .flatMap(change => change.resources)
      .filter(resource => 'taskProgress' in resource)
    expect(converted[0]).toMatchObject({
      taskUuid: text,
      taskToken: text,
      taskProgress: { convertedPercentage: 0 },
    })
    expect(converted).toContainEqual(
      expect.objectContaining({ taskProgress: expect.objectContaining({ convertedPercentage: 100 }) }),
    )
  })

  it('20 names people who come and people who go', async () => {
    const events = (await eventsOf(20)).map(
      ({ data }) => data as { onlineUsers: object[]; offlineUsers: object[] },
    )
    expect(events.some(event => event.onlineUsers.length > 0)).toBe(true)
    expect(events.some(event => event.offlineUsers.length > 0)).toBe(true)
    expect(events[0]!.onlineUsers[0]).toMatchObject({ ...user, streamUuid: text, updateTime: number })
  })
})

it('an event record has roomUuid, cmd, sequence, version and data', async () => {
  const { get, running, linesOf } = play()
  const { roomUuid } = running()
  const [first] = listing(await get(at(roomUuid).events)).list
  const truth = linesOf('event', roomUuid)[0]!
  expect(first).toEqual({ roomUuid, cmd: 1, sequence: 1, version: 1, data: truth.data })
})

describe('a recording', () => {
  it('is listed while it runs, ends with its class, and has files some minutes later', async () => {
    const { clock, get, linesOf } = play()
    const { roomUuid } = linesOf('recording').find(({ item }) => item.status === 1)!
    const item = async () => listing(await get(at(roomUuid).recordings)).list[0]!
    expect(await item()).toMatchObject({ status: 1, endTime: null, url: null, recordDetails: [] })
    await clock.advance(25 * minutes)
    expect(await item()).toMatchObject({ status: 2, endTime: number })
    await clock.advance(10 * minutes)
    const { url, recordDetails } = await item()
    expect(url).toMatch(/\.mp4$/)
    expect(recordDetails).toContainEqual({ url })
  })
})

it('the resources of a room are those uploaded and not deleted', async () => {
  const { get, linesOf } = play()
  for (const { roomUuid } of linesOf('room')) {
    const kept = new Set<string>()
    for (const { data } of linesOf('event', roomUuid).filter(event => event.cmd === 1003)) {
      const { action, resources } = data as { action: number; resources: { resourceUuid: string }[] }
      for (const { resourceUuid } of resources)
        action === 1 ? kept.add(resourceUuid) : kept.delete(resourceUuid)
    }
    const { body } = await get(at(roomUuid).resources)
    const served = body.data as unknown as { resourceUuid: string }[]
    expect(new Set(served.map(resource => resource.resourceUuid))).toEqual(kept)
  }
})
