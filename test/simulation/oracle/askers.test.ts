import { describe, expect, it } from 'vitest'
import type { Arrival } from '../../../sandbox/src/index.ts'
import { examineAskers } from './askers.ts'
import type { Examination } from './examination.ts'

const second = 1_000

/** What is said of a feed that is asked then, where something happens after 65 seconds. */
async function judge(asked: readonly number[], regions = ['eu']) {
  const arrivals = asked.map(at => ({
    ...{ app: 'alpha', operation: 'appEvents', time: at * second, target: '/eu/edu/polling' },
  }))
  const examination = {
    sandbox: {
      arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] },
      truth: () => [{ kind: 'event', app: 'alpha', roomUuid: 'a', at: 65 * second }],
      universe: { app: () => ({ rooms: [{ uuid: 'a', region: undefined }] }) },
    },
    ...{ apps: [{ id: 'alpha', regions }], streams: [], isUnbroken: true, isPrompt: true },
    ...{ feedEvery: 10 * second, start: 0, healed: 200 * second, end: 300 * second },
  } as unknown as Examination
  return (await examineAskers(examination)).map(({ text }) => text)
}

describe('a feed', () => {
  it('is asked seldom while it is silent, and often when it tells something', async () => {
    expect(await judge([0, 10, 30, 60, 90, 100, 120, 150])).toEqual([])
    expect(await judge([0, 10, 30, 60, 90, 120, 150])).toEqual([
      expect.stringMatching(/^the feed of alpha in eu told something at .*:30\.000Z and is left alone$/),
    ])
  })

  it('may be left alone where another region told the same', async () => {
    expect(await judge([0, 10, 30, 60, 90, 120, 150], ['eu', 'ap'])).toEqual([])
  })
})

describe('a feed that', () => {
  const failed = { status: 503, fault: 'status' }

  /** What is said of a feed that is asked then, in seconds, and is answered so. */
  async function judgeAnswers(...asked: readonly (readonly [number, Partial<Arrival>?])[]) {
    const arrivals = asked.map(([at, amiss]) => ({
      ...{ app: 'alpha', operation: 'appEvents', time: at * second, target: '/eu/edu/polling', status: 200 },
      ...amiss,
    }))
    const examination = {
      sandbox: { arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] } },
      ...{ apps: [{ id: 'alpha', regions: ['eu'] }], isCalm: true, isPrompt: true },
      ...{ start: 0, healed: 200 * second, end: 200 * second },
    } as unknown as Examination
    return (await examineAskers(examination)).map(({ text }) => text)
  }

  it('is answered is asked again within its interval', async () => {
    expect(await judgeAnswers([0], [60], [75], [150])).toEqual([])
    expect(await judgeAnswers([0], [60], [75], [151])).toEqual([
      'the feed of alpha in eu is asked at 1970-01-01T00:01:15.000Z and then left alone for too long',
    ])
  })

  it('fails once is tried again in seconds, and one that is away may wait', async () => {
    expect(await judgeAnswers([0], [60, failed], [80, failed], [180])).toEqual([])
    expect(await judgeAnswers([0], [60, failed], [81, failed], [180])).toEqual([
      'the feed of alpha in eu is asked at 1970-01-01T00:01:00.000Z and then left alone for too long',
    ])
  })
})

describe('whoever is named in the configuration', () => {
  const judgeUids = async (...asked: readonly string[]) => {
    const arrivals = asked.map(uids => ({
      ...{ app: 'alpha', operation: 'realtimeQuality', time: 0, target: `/?startTs=1&uids=${uids}` },
    }))
    const examination = {
      sandbox: { arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] } },
      ...{ apps: [{ id: 'alpha', regions: ['eu'] }], streams: [], users: [7, 70, 8], isEnd: true },
    } as unknown as Examination
    return (await examineAskers(examination)).map(({ text }) => text)
  }

  it('is asked for', async () => {
    expect(await judgeUids('7%2C70', '8')).toEqual([])
    expect(await judgeUids('7%2C8', '7')).toEqual(['nobody asks for user 70 of alpha in real time'])
  })
})

describe('whoever lost an app', () => {
  /** What is said of a request that arrives two minutes after another process has the app. */
  async function judgeAfter(stood: number) {
    const arrival = { app: 'alpha', operation: 'roomEvents', time: 130 * second, target: '/eu/room' }
    const examination = {
      sandbox: { arrivals: { count: 1, list: () => [arrival as Partial<Arrival>] } },
      rows: async () => [
        { app: 'alpha', owner: 'one', since: 0 },
        { app: 'alpha', owner: 'two', since: 10 * second },
      ],
      ...{ apps: [{ id: 'alpha', regions: ['eu'] }], streams: [] },
      askers: [{ name: 'one', arrived: [1], stoodStill: [{ from: 20 * second, to: 20 * second + stood }] }],
    } as unknown as Examination
    return (await examineAskers(examination)).map(({ text }) => text)
  }

  it('asks on for a minute at most in which it does not stand still', async () => {
    expect(await judgeAfter(60 * second)).toEqual([])
    expect(await judgeAfter(59 * second)).toEqual(['one asks roomEvents of alpha, which another one owns'])
  })
})
