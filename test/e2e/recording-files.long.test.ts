import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSandbox, demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { recordingStatuses } from '../../src/provider/classroom/index.ts'
import { ask } from '../support/embedded.ts'
import { openSetting, type Setting } from './setting.ts'

const patience = { timeout: 60_000, interval: 100 }
const state = {} as { setting: Setting }

beforeAll(async () => {
  state.setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock: systemClock, seed: 5 },
        profile: {
          kind: 'school',
          classes: 1,
          students: 2,
          eventsPerMinute: 30,
          lessonMinutes: 60,
          breakMinutes: 1,
          historyMinutes: 1,
        },
      }),
    configOf: ({ databaseUrl, providerUrl }) => ({
      database: { url: databaseUrl, poolSize: 2 },
      http: { listen: '127.0.0.1:0' },
      provider: { classroom: { url: providerUrl } },
      streams: { recordings: { activeEvery: '1s', idleEvery: '1s' } },
      apps: [
        {
          ...{ id: demoApp.id, region: 'ap', plan: demoApp.plan },
          classroom: { uid: demoApp.uid, token: demoApp.token },
        },
      ],
    }),
  })
})
afterAll(() => state.setting?.close())

it('a file that its recording no longer lists is said to be gone, and is back when it is listed again', async () => {
  const { setting } = state
  const daemon = setting.start()
  await daemon.ready
  const running = () => setting.sandbox.universe.app(demoApp.id)!.rooms.find(one => one.state === 1)
  await expect.poll(running, patience).toBeDefined()
  const room = running()!
  const [url, other] = ['https://records.example/first.mp4', 'https://records.example/second.mp4'] as const
  const recording = {
    ...{ recordId: 'rec', startTime: room.openedAt, endTime: room.openedAt + 60_000, resourceId: 'res' },
    ...{
      sid: 'sid',
      recordUid: '1',
      boardId: 'b',
      boardToken: 't',
      type: 2,
      status: recordingStatuses.ended,
    },
    ...{ url, recordDetails: [{ url }, { url: other }] },
  }
  const { recordings } = room.contents()
  recordings.splice(0, recordings.length, recording)
  const files = () =>
    ask(
      setting.databaseUrl,
      `select ordinal, url, removed_at is not null as gone from classroom.recording_file where record_id = 'rec' order by 1`,
    )
  const first = { ordinal: 0, url, gone: false }
  const second = { ordinal: 1, url: other, gone: false }
  await expect.poll(files, patience).toEqual([first, second])
  recording.recordDetails.pop()
  await expect.poll(files, patience).toEqual([first, { ...second, gone: true }])
  recordings.pop()
  await expect.poll(files, patience).toEqual([
    { ...first, gone: true },
    { ...second, gone: true },
  ])
  recording.recordDetails.push({ url: other })
  recordings.push(recording)
  await expect.poll(files, patience).toEqual([first, second])
  // The one that is left moves up; it is the same file all the same.
  recording.recordDetails.shift()
  await expect.poll(files, patience).toEqual([{ ...first, gone: true }, second])
  expect(await daemon.terminate()).toBe(0)
})
