import { describe, expect, it } from 'vitest'
import { engineSettings } from '../../src/commands/engine-settings.ts'
import { readConfig } from '../../src/config/load.ts'
import { streams } from '../../src/streams/index.ts'

const invented = { ...streams.recordings, name: 'invented', title: 'Something in each room' }
const more = { ...streams, invented }

function read(said: string, registered = more) {
  const text = `
provider: { classroom: { url: "https://x.example" } }
streams: { ${said} }
apps: [{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }]`
  return readConfig(text, { name: 'text', env: {}, folder: '/', streams: registered })
}

describe('a stream that is registered', () => {
  it('has the keys that it declares, and what follows from them', async () => {
    const [app] = engineSettings(await read('invented: { activeEvery: 5s }')).apps
    expect(app!.streams.invented).toEqual({
      ...{ activeEvery: 5_000, idleEvery: 3_600_000, memory: 2_700_000, concurrency: 2 },
    })
  })

  it('is missed where what it needs is off', async () => {
    await expect(read('room-events: off')).rejects.toThrow(
      'text:3:12  streams.room-events: is off, but app-events, popup-quiz, poll, recordings, resources, invented need it; leave it on, or switch them off as well',
    )
  })

  it('is not known elsewhere', async () => {
    const { invented: _, ...others } = more
    await expect(read('invented: off', others as typeof more)).rejects.toThrow('unknown stream')
  })

  it('is asked at the moments that the file names, unless the app says an interval', async () => {
    const text = (own: string) => `
provider: { classroom: { url: "https://x.example" }, players: { url: "https://x.example" } }
streams: { cloud-players: { cron: '0 4 * * *' }, poll: { cron: '*/30 * * * *' } }
apps: [{ id: a, region: ap, plan: premium, timeZone: Asia/Kathmandu, classroom: { uid: u, token: t }, rest: { key: k, secret: s }, streams: ${own} }]`
    const cadences = async (own: string) => {
      const config = await readConfig(text(own), { name: 'text', env: {}, folder: '/' })
      const { streams } = engineSettings(config).apps[0]!
      return [streams['cloud-players']!, streams.poll!].map(each => [
        each.moments && new Date(each.moments.next(Date.UTC(2026, 0, 5))).toISOString().slice(0, 16),
        each.activeEvery,
      ])
    }
    expect(await cadences('{}')).toEqual([
      // The clocks there are 5:45 ahead, and may change for all that the expression knows.
      ['2026-01-05T22:15', 90_000_000],
      ['2026-01-05T00:15', 1_800_000],
    ])
    expect(await cadences('{ cloud-players: { every: 10s }, poll: { idleEvery: 2h } }')).toEqual([
      [undefined, 10_000],
      [undefined, 15_000],
    ])
  })
})
