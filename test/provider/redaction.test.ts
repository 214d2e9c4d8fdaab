import { describe, expect, it } from 'vitest'
import { maskAddress, maskSecrets, redactBytes } from '../../src/provider/redaction.ts'

describe('secrets of a player', () => {
  it.each(['token', 'encryptKey', 'encryptKdfSalt', 'EncryptKey', 'extra.encryptKey'])(
    '%s is masked in values and in bytes',
    name => {
      expect(maskSecrets({ [name]: 'canary' })).toEqual({ [name]: '[redacted]' })
      const bytes = redactBytes(Buffer.from(`{"${name}": "can\\"ary", "id": 1`))
      expect(Buffer.from(bytes).toString()).toBe(`{"${name}": "[redacted]", "id": 1`)
    },
  )

  it.each(['encryptMode', 'key', 'streamUrl'])('%s is none', name => {
    const value = { [name]: 'shown' }
    expect(maskSecrets(value)).toBe(value)
    expect(Buffer.from(redactBytes(Buffer.from(JSON.stringify(value)))).toString()).toBe(
      JSON.stringify(value),
    )
  })

  it('leave numbers beside them as they came, to the last digit', () => {
    const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => object }
    const masked = maskSecrets({ token: 'canary', huge: rawJSON('1e400') })
    expect(JSON.stringify(masked)).toBe('{"token":"[redacted]","huge":1e400}')
  })
})

describe('an address', () => {
  it.each([
    ['rtmp://user:canary@live.example/a?token=canary', 'rtmp://[redacted]@live.example/a?token=[redacted]'],
    ['rtmp://live.example/a?canary', 'rtmp://live.example/a?[redacted]'],
    ['rtmp://live.example/a?k=canary?b=canary&c=', 'rtmp://live.example/a?k=[redacted]&c='],
    ['https://canary:can@ry@live.example', 'https://[redacted]@live.example'],
    ['//user:canary@live.example/a?k=canary', '//[redacted]@live.example/a?k=[redacted]'],
    ['//live.example?canary', '//live.example?[redacted]'],
    ['http://h/a?x=canary&canary&y=cana ry#canary', 'http://h/a?x=[redacted]&[redacted]&y=[redacted]'],
    [
      'cannot open rtmp://u:canary@h/a, nor rtmp://v:canary@i/b',
      'cannot open rtmp://[redacted]@h/a, nor rtmp://[redacted]@i/b',
    ],
  ])('%s is shown without what it hides', (address, shown) => {
    expect(maskAddress(address)).toBe(shown)
  })

  it.each(['rtmp://live.example/a', 'rtmp://live.example:1935/@me', 'me@school.example', 'why?', ''])(
    '%s hides nothing',
    text => expect(maskAddress(text)).toBe(text),
  )

  it.each([
    ['streamUrl', 'user:canary@h/a?k=canary', '[redacted]@h/a?k=[redacted]'],
    ['url', 'not an address?a=canary', 'not an address?a=[redacted]'],
    ['uris', ['h/a?canary'], ['h/a?[redacted]']],
    ['channelName', 'a@b?c=d', 'a@b?c=d'],
  ])('needs no scheme where the field %s says what it is', (name, told, shown) => {
    expect(maskSecrets({ [name]: told }, 'in addresses too')).toEqual({ [name]: shown })
    expect(maskSecrets({ [name]: told })).toEqual({ [name]: told })
  })

  it('is masked at any depth where it is wished, and otherwise stays', () => {
    const item = { id: 'a', media: [{ from: 'rtmp://u:canary@h/a' }], token: 'canary' }
    expect(maskSecrets(item, 'in addresses too')).toEqual({
      ...{ id: 'a', media: [{ from: 'rtmp://[redacted]@h/a' }], token: '[redacted]' },
    })
    expect(maskSecrets(item)).toMatchObject({ media: item.media })
  })
})

describe('bytes that could not be parsed', () => {
  const kept = (text: string) => Buffer.from(redactBytes(Buffer.from(text), 'in addresses too')).toString()

  it.each([
    ['{"u":"rtmp://u:canary@h/a?t=canary","b":1', '{"u":"rtmp://[redacted]@h/a?t=[redacted]","b":1'],
    [
      String.raw`{"u":"rtmp:\/\/u:canary@h\/a?t=can\"ary&v=canary"}`,
      '{"u":"rtmp://[redacted]@h/a?t=[redacted]&v=[redacted]"}',
    ],
    [
      String.raw`{"u":"http://u:canary\u0040h/a\u003ft=canary\u0026v=canary"}`,
      '{"u":"http://[redacted]@h/a?t=[redacted]&v=[redacted]"}',
    ],
    ['{"u":"//u:canary@h?k=canary"', '{"u":"//[redacted]@h?k=[redacted]"'],
    ['{"streamUrl": "u:canary@h?k=canary", "n": 1', '{"streamUrl": "[redacted]@h?k=[redacted]", "n": 1'],
    ['{"u":"rtmp://u:canary', '{"u":"rtmp://[redacted]'],
    ['{"u":"rtmp://h/a?t=canary', '{"u":"rtmp://h/a?t=[redacted]'],
    [String.raw`{"u":"rtmp://h/a?t=canary\ `.trim(), '{"u":"rtmp://h/a?t=[redacted]'],
  ])('%s lose what addresses hide', (text, shown) => {
    expect(kept(text)).toBe(shown)
  })

  it('stay as they came otherwise', () => {
    const text = '<h1>\u00fc\u{1f600} maintenance</h1> {"a": "b:\\/c", "n": 1.0}'
    expect(kept(text)).toBe(text)
  })

  it('are read in one go, however many addresses begin in them', () => {
    const text = '://'.repeat(20_000)
    expect(kept(text)).toBe(text)
  })

  it.each([
    ['slashes', '/'],
    ['addresses', '//a'],
  ])('are read in one go, also of a value that is nothing but %s', (_, part) => {
    const text = `"${part.repeat(300_000)}"`
    const began = performance.now()
    expect(kept(text)).toBe(text)
    expect(maskSecrets({ streamUrl: text }, 'in addresses too')).toEqual({ streamUrl: text })
    expect(performance.now() - began).toBeLessThan(2_000)
  })
})
