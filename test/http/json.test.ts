import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeJson } from '../../src/http/json.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const decode = (text: string) => decodeJson(utf8(text))

/** JSON.stringify, but for integers beyond 2^53, which it refuses. */
function encode(value: unknown): string {
  const marked = JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `bigint:${one}` : one))
  return marked.replace(/"bigint:(-?\d+)"/g, '$1')
}

describe('decoding JSON', () => {
  it('keeps every digit of integers beyond 2^53', () => {
    expect(decode('[9007199254740991,9007199254740992,9007199254740993,-9007199254740993]')).toEqual([
      9007199254740991,
      9007199254740992n,
      9007199254740993n,
      -9007199254740993n,
    ])
  })

  it('keeps a number that overflows as it was written', () => {
    expect(JSON.stringify(decode('{"a":1e400,"b":-1E+999,"c":1.5e10}'))).toBe(
      '{"a":1e400,"b":-1E+999,"c":15000000000}',
    )
  })

  it('leaves a number with a point or an exponent that fits a number', () => {
    expect(decode('[0.1234567890123456789,1e300,12345678901234567890.5]')).toEqual([
      0.12345678901234568, 1e300, 12345678901234567000,
    ])
  })

  it('keeps an absurdly long integer without making a bigint of it', () => {
    const digits = '7'.repeat(100_000)
    expect(JSON.stringify(decode(`[${digits}]`))).toBe(`[${digits}]`)
  })

  it('does not take digits inside a string for a number', () => {
    expect(decode('{"id":"90071992547409931234","n":1}')).toEqual({ id: '90071992547409931234', n: 1 })
  })

  it('lets the last of duplicate keys count', () => {
    expect(decode('{"a":1,"a":2}')).toEqual({ a: 2 })
  })

  it.each(['{"__proto__":{"polluted":1},"constructor":2}', '{"__proto__":{"polluted":9007199254740993}}'])(
    'makes a plain key of __proto__ in %s',
    text => {
      const value = decode(text) as object
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(Object.hasOwn(value, '__proto__')).toBe(true)
      expect('polluted' in {}).toBe(false)
    },
  )

  it.each([
    ['', 'the body is empty'],
    ['\ufeff{}', 'the body begins with a byte order mark'],
    ['<html>gateway</html>', 'the body is not JSON'],
    ['{"a":1', 'the body is not JSON'],
    ['{"a":1}x', 'the body is not JSON'],
    ['{"a":NaN}', 'the body is not JSON'],
    ['"unterminated', 'the body is not JSON'],
    ['"\\', 'the body is not JSON'],
    ['\ufffd{}', 'the body is not JSON'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'the body is nested deeper than 64'],
    [`[${'{"k":'.repeat(64)}`, 'the body is nested deeper than 64'],
    [`[${'[],'.repeat(500_000)}0]`, 'the body has more than 500000 parts'],
  ])('refuses %.20j', (text, message) => {
    expect(() => decode(text)).toThrow(message)
  })

  it('refuses bytes that are not UTF-8 instead of guessing', () => {
    expect(() => decodeJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow('the body is not UTF-8')
    expect(() => decodeJson(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))).toThrow('the body is not UTF-8')
  })

  it('takes sixty-four levels, and brackets inside strings for text', () => {
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`
    expect(JSON.stringify(decode(deep))).toBe(deep)
    const text = JSON.stringify('["\\'.repeat(1_000))
    expect(JSON.stringify(decode(text))).toBe(text)
  })

  it('gives back whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: 'binary' }), value => {
        const text = JSON.stringify(value)
        expect(encode(decode(text))).toBe(text)
      }),
      { examples: [[12345678901234567000]] },
    )
  })

  it('keeps neighbouring integers of any size apart', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), n => {
        const [a, b] = decode(`[${n},${n + 1n}]`) as [number | bigint, number | bigint]
        expect([BigInt(a), BigInt(b)]).toEqual([n, n + 1n])
      }),
    )
  })

  it('ends with a value or a JsonError for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        try {
          decodeJson(bytes)
        } catch (error) {
          expect(error).toHaveProperty('name', 'JsonError')
        }
      }),
    )
  })
})
