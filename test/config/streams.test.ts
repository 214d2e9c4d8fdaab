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
})
