import { describe, expect, it } from 'vitest'
import { minute, second } from '../harness.ts'
import { startApp } from '../start-app.ts'

describe('whether the log of a room shows that it is there, and lets its other streams in', () => {
  it('the other streams of a room wait until its log has been read', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    const log = Promise.withResolvers<{ items: [] }>()
    transport.answers = ({ operation }) => (operation === 'roomEvents' ? log.promise : { items: [] })
    await clock.advance(5 * second)
    expect(transport.of('popupQuiz')).toEqual([])
    log.resolve({ items: [] })
    await clock.advance(1 * second)
    expect(transport.of('popupQuiz')).toHaveLength(1)
    await stop()
  })

  it('a log that leads in a circle has been read all the same, and keeps no other stream waiting', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    transport.answers = ({ operation }) =>
      operation === 'roomEvents' ? { items: [{ id: 1 }], nextId: 'a' } : { items: [] }
    await clock.advance(5 * second)
    expect(transport.of('popupQuiz')).toHaveLength(1)
    await stop()
  })

  it.each(['malformed', 'too_large'] as const)(
    'a log that is %s keeps no other stream waiting',
    async kind => {
      const { clock, transport, store, stop } = startApp(['algebra'])
      transport.answers = ({ operation }) => (operation === 'roomEvents' ? kind : { items: [] })
      await clock.advance(5 * second)
      expect(transport.of('popupQuiz')).toHaveLength(1)
      expect(store.vouched).toEqual(['algebra'])
      await stop()
    },
  )

  it('but shows no room of which only the name was heard', async () => {
    const { clock, poller, transport, store, stop } = startApp()
    transport.answers = ({ operation }) => (operation === 'roomEvents' ? 'malformed' : { items: [] })
    poller.discover(['algebra'])
    await clock.advance(minute)
    expect(transport.of('roomEvents').length).toBeGreaterThan(1)
    expect(store.vouched).toEqual([])
    await stop()
  })

  it('a page of a maintenance in place of its log shows no room', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    const page = {
      kind: 'malformed',
      text: 'no JSON',
      body: Buffer.from('<!doctype html><title>Soon</title>'),
    } as const
    transport.answers = ({ operation }) => (operation === 'roomEvents' ? page : { items: [] })
    await clock.advance(minute)
    expect(store.vouched).toEqual([])
    expect(transport.of('popupQuiz')).toEqual([])
    await stop()
  })

  it('but where nobody can say whose room it is, the others wait', async () => {
    const { clock, transport, store, stop } = startApp(['algebra'])
    store.isAnother = true
    transport.answers = ({ operation }) => (operation === 'roomEvents' ? 'malformed' : { items: [] })
    await clock.advance(minute)
    expect(transport.of('popupQuiz')).toEqual([])
    await stop()
  })

  it.each(['malformed', 'server_error'] as const)(
    'a log of which a page was read before one that is %s shows whose room it is',
    async kind => {
      const { clock, transport, store, stop } = startApp(['algebra'])
      store.isAnother = true
      transport.answers = ({ operation, nextId }) => {
        if (operation !== 'roomEvents') return { items: [] }
        return nextId === null ? { items: [{ id: 1 }], nextId: '2' } : kind
      }
      await clock.advance(minute)
      expect(transport.of('popupQuiz').length).toBeGreaterThan(0)
      await stop()
    },
  )

  it('a page that does not tell whose it is lets no other stream in', async () => {
    const { clock, transport, stop } = startApp(['algebra'])
    transport.answers = ({ operation }) =>
      operation === 'roomEvents' ? { items: [{ id: 1, undecided: true }] } : { items: [] }
    await clock.advance(5 * second)
    expect(transport.of('roomEvents').length).toBeGreaterThan(0)
    expect(transport.of('popupQuiz')).toEqual([])
    await stop()
  })
})
