import { describe, expect, it } from 'vitest'
import type { StoreGauges } from '../../src/engine/ports.ts'
import { samples, setUp } from './meter-harness.ts'

describe('figures of the database', () => {
  const figures: StoreGauges = {
    gaps: [
      { app: 'a', stream: 'room-events', state: 'open', gaps: 2 },
      { app: 'b', stream: 'room-events', state: 'open', gaps: 3 },
    ],
    rooms: [
      { app: 'a', state: 'open', count: 5 },
      { app: 'b', state: 'open', count: 6 },
    ],
  }

  it('are summed over the apps', async () => {
    const text = await setUp({ storeGauges: async () => figures }).meter.scrape()
    expect(text).toContain('penstock_gaps{stream="room-events",state="open"} 5')
    expect(text).toContain('penstock_rooms{state="open"} 11')
    expect(text).toContain('penstock_database_up 1')
  })

  it('tell what was lost of late of every stream, also where that is nothing', async () => {
    const losses = [{ stream: 'room-events', hour: 2, day: 7 }]
    const text = await setUp({ storeGauges: async () => ({ ...figures, losses }) }).meter.scrape()
    expect(text.split('\n').filter(line => line.startsWith('penstock_recent_losses{'))).toEqual([
      'penstock_recent_losses{stream="app-events",window="hour"} 0',
      'penstock_recent_losses{stream="app-events",window="day"} 0',
      'penstock_recent_losses{stream="room-events",window="hour"} 2',
      'penstock_recent_losses{stream="room-events",window="day"} 7',
    ])
  })

  it('count players by app and status, all of them told for an app whose list was read', async () => {
    const read = async (): Promise<StoreGauges> => ({
      ...{ gaps: [], rooms: [] },
      players: [
        { app: 'a', status: 'running', count: 3 },
        { app: 'a', status: 'user 4711', count: 1 },
        { app: 'b', status: 'running', count: 2 },
        { app: 'c', status: 'running', count: 4 },
      ],
      orphans: [
        { app: 'a', count: 2 },
        { app: 'b', count: 1 },
        { app: 'c', count: 1 },
      ],
    })
    const text = await setUp({ storeGauges: read, perApp: 1 }).meter.scrape()
    expect(samples(text, 'penstock_players').toSorted()).toEqual([
      'penstock_players{app="a",status="connecting"} 0',
      'penstock_players{app="a",status="failed"} 0',
      'penstock_players{app="a",status="idle"} 0',
      'penstock_players{app="a",status="other"} 1',
      'penstock_players{app="a",status="running"} 3',
      'penstock_players{app="a",status="unknown"} 0',
      'penstock_players{app="others",status="connecting"} 0',
      'penstock_players{app="others",status="failed"} 0',
      'penstock_players{app="others",status="idle"} 0',
      'penstock_players{app="others",status="running"} 6',
      'penstock_players{app="others",status="unknown"} 0',
    ])
    expect(samples(text, 'penstock_orphan_players')).toEqual([
      'penstock_orphan_players{app="a"} 2',
      'penstock_orphan_players{app="others"} 2',
    ])
  })

  it('no longer tell players of an app whose list is not read', async () => {
    const answers: StoreGauges[] = [
      {
        ...{ gaps: [], rooms: [] },
        players: [{ app: 'a', status: 'idle', count: 1 }],
        orphans: [{ app: 'a', count: 0 }],
      },
      { gaps: [], rooms: [] },
    ]
    const { meter, clock } = setUp({ storeGauges: async () => answers.shift()! })
    expect(samples(await meter.scrape(), 'penstock_players')).toHaveLength(5)
    await clock.advance(5_000)
    const text = await meter.scrape()
    expect([samples(text, 'penstock_players'), samples(text, 'penstock_orphan_players')]).toEqual([[], []])
  })

  it('leave out apps that were taken out of the configuration', async () => {
    const read = async (): Promise<StoreGauges> => ({
      gaps: [
        { app: 'a', stream: 'room-events', state: 'open', gaps: 1 },
        { app: 'gone', stream: 'room-events', state: 'open', gaps: 4 },
      ],
      rooms: [{ app: 'gone', state: 'started', count: 3 }],
      players: [{ app: 'gone', status: 'running', count: 50 }],
      orphans: [
        { app: 'a', count: 0 },
        { app: 'gone', count: 50 },
      ],
    })
    const { meter, clock } = setUp({ storeGauges: read, apps: ['a', 'gone'] })
    expect(samples(await meter.scrape(), 'penstock_orphan_players')).toHaveLength(2)
    meter.follow(['a'], ['gone'])
    await clock.advance(5_000)
    const text = await meter.scrape()
    expect(text).toContain('penstock_gaps{stream="room-events",state="open"} 1')
    expect(samples(text, 'penstock_rooms')).toEqual([])
    expect(
      samples(text, 'penstock_players').filter(line => !line.startsWith('penstock_players{app="a"')),
    ).toEqual([])
    expect(samples(text, 'penstock_orphan_players')).toEqual(['penstock_orphan_players{app="a"} 0'])
  })

  it('are read once in five seconds, however often someone scrapes', async () => {
    let readings = 0
    const read = async () => {
      readings++
      return figures
    }
    const { meter, clock } = setUp({ storeGauges: read })
    await Promise.all([meter.scrape(), meter.scrape()])
    await clock.advance(4_999)
    await meter.scrape()
    expect(readings).toBe(1)
    await clock.advance(1)
    await meter.scrape()
    expect(readings).toBe(2)
  })

  it('stay as last known while the database is down, and the scrape says so', async () => {
    let down = false
    const read = async () => {
      if (down) throw new Error('down')
      return figures
    }
    const { meter, clock } = setUp({ storeGauges: read })
    await meter.scrape()
    down = true
    await clock.advance(5_000)
    const text = await meter.scrape()
    expect(text).toContain('penstock_database_up 0')
    expect(text).toContain('penstock_rooms{state="open"} 11')
  })

  it('are not waited for when the database hangs', async () => {
    const { meter, clock } = setUp({ storeGauges: () => new Promise(() => {}) })
    const scrape = meter.scrape()
    await clock.advance(2_000)
    expect(await scrape).toContain('penstock_database_up 0')
  })

  describe('that is well and slow', () => {
    const slow = () => {
      const answers = [
        async () => figures,
        () => Promise.reject(new Error('57014')),
        () => new Promise<never>(() => {}),
      ]
      return () => answers.shift()!()
    }

    it('is told to be up, with what it said last and how old that is', async () => {
      const { meter, clock } = setUp({ storeGauges: slow(), databaseAnswers: async () => {} })
      expect(await meter.scrape()).toContain('penstock_database_figures_age_seconds 0')
      for (const [passed, age] of [
        [5_000, 5],
        [5_000, 12],
      ] as const) {
        await clock.advance(passed)
        const scrape = meter.scrape()
        if (age === 12) await clock.advance(2_000)
        const text = await scrape
        expect(text).toContain('penstock_database_up 1')
        expect(text).toContain('penstock_rooms{state="open"} 11')
        expect(text).toContain(`penstock_database_figures_age_seconds ${age}`)
      }
    })

    it('of which nothing could be read since the start tells figures as old as the process', async () => {
      const storeGauges = () => Promise.reject(new Error('57014'))
      const { meter, clock } = setUp({ storeGauges, databaseAnswers: async () => {} })
      await clock.advance(400_000)
      const text = await meter.scrape()
      expect(text).toContain('penstock_database_up 1')
      expect(text).toContain('penstock_database_figures_age_seconds 400')
    })

    it.each([
      ['refuses', () => Promise.reject(new Error('28P01'))],
      ['hangs', () => new Promise<never>(() => {})],
    ])('is down once it %s', async (_, databaseAnswers) => {
      const { meter, clock } = setUp({ storeGauges: slow(), databaseAnswers })
      expect(await meter.scrape()).toContain('penstock_database_up 1')
      await clock.advance(5_000)
      const scrape = meter.scrape()
      for (let n = 0; n < 2; n++) await clock.advance(2_000)
      expect(await scrape).toContain('penstock_database_up 0')
    })
  })
})
