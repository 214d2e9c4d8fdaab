import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/clock/clock.ts'
import { type AppCredentials, createCredentials, rereadToken } from '../../src/http/authentication.ts'
import { fixed } from './harness.ts'

function only(app: AppCredentials, names: { tokenHeader?: string; uidHeader?: string } = {}) {
  return createCredentials({ apps: { a: app }, ...names })
}

function handClock() {
  let at = 0
  const clock: Clock = { now: () => at, monotonic: () => at, sleep: async () => {} }
  const advance = (ms: number) => {
    at += ms
  }
  return { clock, advance }
}

describe('credentials', () => {
  it('of a classroom are a token and a uid', async () => {
    expect(
      await only({ classroom: { uid: fixed('u1'), token: fixed('t1') } }).headers('a', 'classroom'),
    ).toEqual({
      'x-svc-token': 't1',
      'x-svc-uid': 'u1',
    })
  })

  it('of a classroom go by the names that the deployment uses', async () => {
    const credentials = only(
      { classroom: { uid: fixed('u1'), token: fixed('t1') } },
      { tokenHeader: 'x-other-token', uidHeader: 'x-other-uid' },
    )
    expect(await credentials.headers('a', 'classroom')).toEqual({
      'x-other-token': 't1',
      'x-other-uid': 'u1',
    })
  })

  it('of the other two are basic authentication', async () => {
    const credentials = only({ rest: { key: fixed('Aladdin'), secret: fixed('open sesame') } })
    const basic = { authorization: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' }
    expect(await credentials.headers('a', 'analytics')).toEqual(basic)
    expect(await credentials.headers('a', 'players')).toEqual(basic)
  })

  it.each(['a\r\nx-evil: 1', 'a\nb', 'a\0b', 'ü', '', ' lead'])('%j never becomes a header', async token => {
    const credentials = only({ classroom: { uid: fixed('u1'), token: fixed(token) } })
    await expect(credentials.headers('a', 'classroom')).rejects.toThrow(
      'the token holds a character that a header cannot carry, or is empty',
    )
  })

  it('of an app that has none say so', async () => {
    await expect(only({}).headers('a', 'classroom')).rejects.toThrow('the app has no classroom token')
    await expect(only({}).headers('a', 'players')).rejects.toThrow('the app has no key and secret')
  })

  it('are known to the filter of the log once they have been revealed', async () => {
    const credentials = only({
      classroom: { uid: fixed('u1'), token: fixed('t1') },
      rest: { key: fixed('Aladdin'), secret: fixed('open sesame') },
    })
    await credentials.headers('a', 'classroom')
    await credentials.headers('a', 'analytics')
    expect(new Set(credentials.known())).toEqual(
      new Set(['t1', 'open sesame', 'Aladdin:open sesame', 'QWxhZGRpbjpvcGVuIHNlc2FtZQ==']),
    )
  })
})

describe('a token that is read again', () => {
  it('is read once as long as it is young', async () => {
    const { clock, advance } = handClock()
    let readings = 0
    const token = rereadToken({ read: async () => `t${++readings}\n`, clock, maxAge: 60_000 })
    expect([await token.current(), await token.current()]).toEqual(['t1', 't1'])
    advance(59_999)
    expect(await token.current()).toBe('t1')
    advance(1)
    expect(await token.current()).toBe('t2')
  })

  it('is read again after a refusal and says whether it changed', async () => {
    const { clock, advance } = handClock()
    const texts = ['t1', 't1', 't2']
    const token = rereadToken({ read: async () => texts.shift()!, clock, maxAge: 60_000 })
    await token.current()
    expect(await token.refresh()).toBe(false)
    advance(5_000)
    expect(await token.refresh()).toBe(true)
    expect(await token.current()).toBe('t2')
  })

  it('is read once when many ask at the same time', async () => {
    const { clock } = handClock()
    let readings = 0
    const token = rereadToken({ read: async () => `t${++readings}`, clock, maxAge: 60_000 })
    expect(await Promise.all([token.current(), token.current(), token.current()])).toEqual(['t1', 't1', 't1'])
  })

  it('serves on when it has grown old and cannot be read', async () => {
    const { clock, advance } = handClock()
    let broken = false
    const read = async () => {
      if (broken) throw new Error('gone')
      return 't1'
    }
    const token = rereadToken({ read, clock, maxAge: 1_000 })
    await token.current()
    broken = true
    advance(5_000)
    expect(await token.current()).toBe('t1')
    await expect(token.refresh()).rejects.toThrow('gone')
  })

  it('is not tried at each request while it cannot be read', async () => {
    const { clock, advance } = handClock()
    let readings = 0
    const read = async () => {
      readings += 1
      if (readings === 2) throw new Error('the program does not end')
      return `t${readings}`
    }
    const token = rereadToken({ read, clock, maxAge: 60_000 })
    await token.current()
    advance(60_000)
    expect([await token.current(), await token.current(), readings]).toEqual(['t1', 't1', 2])
    advance(5_000)
    expect([await token.current(), readings]).toEqual(['t3', 3])
  })

  it('is refused when what was read is empty', async () => {
    const { clock } = handClock()
    const token = rereadToken({ read: async () => ' \n', clock, maxAge: 1_000 })
    await expect(token.current()).rejects.toThrow('the token that was read is empty')
  })
})
