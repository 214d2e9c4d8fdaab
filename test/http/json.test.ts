import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeJson, decodeSteps, JsonTooLarge } from '../../src/http/json.ts'

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

  it('passes over a byte order mark', () => {
    expect(decode('\ufeff{"a":[9007199254740993,1]}')).toEqual({ a: [9007199254740993n, 1] })
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
    ['\ufeff', 'the body is empty'],
    ['\ufeff\ufeff{}', 'the body is not JSON'],
    ['<html>gateway</html>', 'the body is not JSON'],
    ['{"a":1', 'the body is not JSON'],
    ['{"a":1}x', 'the body is not JSON'],
    ['{"a":NaN}', 'the body is not JSON'],
    ['"unterminated', 'the body is not JSON'],
    ['"\\', 'the body is not JSON'],
    ['\ufffd{}', 'the body is not JSON'],
    [`[${'{"k":'.repeat(64)}`, 'the body is not JSON'],
    [`${'['.repeat(65)}nought${']'.repeat(65)}`, 'the body is not JSON'],
    [`${'['.repeat(500_000)}[]${']'.repeat(500_000)}`, 'the body has more than 500000 parts'],
    [`[${'[],'.repeat(500_000)}0]`, 'the body has more than 500000 parts'],
    [`[${'1,'.repeat(1_000_000)}0]`, 'the body has more than 1000000 values'],
    [`["a",${'true,"b",'.repeat(500_000)}0]`, 'the body has more than 1000000 values'],
    [`{${Array.from({ length: 50_001 }, (_, i) => `"${i}":0`)}}`, 'has more than 50000 members'],
    [`[${'1e400,'.repeat(100_000)}1e400]`, 'more than 100000 numbers that a double may not hold'],
    ['[1}', 'the body is not JSON'],
    [']', 'the body is not JSON'],
    ['[012345678901234567]', 'the body is not JSON'],
    ['[1.e999]', 'the body is not JSON'],
    ['{9007199254740993:1}', 'the body is not JSON'],
    ['[9007199254740993 9007199254740993]', 'the body is not JSON'],
  ])('refuses %.20j', (text, message) => {
    expect(() => decode(text)).toThrow(message)
  })

  it('refuses bytes that are not UTF-8 instead of guessing', () => {
    expect(() => decodeJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow('the body is not UTF-8')
    expect(() => decodeJson(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))).toThrow('the body is not UTF-8')
  })

  it('refuses a body that is too large by a word of its own, since less may be asked for', () => {
    expect(() => decode(`[${'1,'.repeat(1_000_000)}0]`)).toThrow(JsonTooLarge)
    expect(() => decode('[1}')).not.toThrow(JsonTooLarge)
  })

  it('takes the largest page of metrics, of doubles in all their digits', () => {
    const pair = '[1763809200,0.30000000000000004]'
    const page = decode(`{"kvs":[${`${pair},`.repeat(479_999)}${pair}]}`) as { readonly kvs: unknown[] }
    expect(page.kvs).toHaveLength(480_000)
    expect(page.kvs[479_999]).toEqual([1763809200, 0.30000000000000004])
  })

  it('takes nothing in a body for a mark of its own', () => {
    const body = '[9007199254740993,[1e999,1],"[1e999,1]",["1e999",1],{"a":[-1e999,0]}]'
    expect(
      JSON.stringify(decode(body), (_, one: unknown) => (typeof one === 'bigint' ? `${one}` : one)),
    ).toBe('["9007199254740993",[1e999,1],"[1e999,1]",["1e999",1],{"a":[-1e999,0]}]')
  })

  describe('in a body that is long enough to be read in parts', () => {
    const many = (text: string, times: number) => Array.from({ length: times }, () => text).join()
    const long = many('"Zürich, [\\"{"', 20_000)

    it.each([
      `[${long}]`,
      `{"a":[${long}],"b":{"c":[[${long}],[${long}]]},"d":1}`,
      `[[${many('[1,2.5]', 40_000)}],[],[${many('{"k":[true,null]}', 20_000)}],7]`,
      `[${many(`[${many('1', 40_000)}]`, 12)}]`,
      `{"a":"${'x'.repeat(300_000)}","__proto__":[${long}],"c":[]}`,
    ])('reads %.30j as JSON.parse does', text => {
      expect(decode(text)).toEqual(JSON.parse(text))
    })

    it('puts exact numbers back wherever they stand', () => {
      const list = decode(
        `[1,9007199254740993,${many('"xxxxxxxxxx"', 30_000)},{"a":[9007199254740995]}]`,
      ) as unknown[]
      expect([list.length, list[1], list.at(-1)]).toEqual([
        30_003,
        9007199254740993n,
        { a: [9007199254740995n] },
      ])
    })

    it.each([
      `["${'x'.repeat(140_000)}",]`,
      `[${long},]`,
      `[${long},,1]`,
      `[,${long}]`,
      `{"a":[${long}],}`,
      `[${long}] 1`,
      `[${long}]]`,
      `[[${long}}]`,
    ])('refuses %.10j, whatever is wrong in it', text => {
      expect(() => decode(text)).toThrow('the body is not JSON')
    })

    it('reads it a few milliseconds at a time', () => {
      const page = utf8(`{"a":[${many(`[${many('[1763809200,0.1]', 1_000)}]`, 100)}]}`)
      const steps = decodeSteps(page)
      let count = 1
      while (!steps.next().done) count++
      expect(count).toBeGreaterThan(page.length / 300_000)
    })
  })

  it('takes sixty-four levels, and brackets inside strings for text', () => {
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`
    expect(JSON.stringify(decode(deep))).toBe(deep)
    const text = JSON.stringify('["\\'.repeat(1_000))
    expect(JSON.stringify(decode(text))).toBe(text)
  })

  describe('what is nested deeper', () => {
    const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }
    const around = (inner: string) => `${'['.repeat(63)}{"in":${inner},"beside":1e400}${']'.repeat(63)}`
    const told = (inner: string) => (decode(around(inner)) as unknown[]).flat(63)[0]

    it('is the text of its JSON, and spoils nothing beside it', () => {
      const deep = `{ "k" : [${'['.repeat(5_000)}9007199254740993,1e400${']'.repeat(5_000)}, "\\u0000]" ] }`
      expect(told(deep)).toEqual({ in: deep.replaceAll(' ', ''), beside: rawJSON('1e400') })
    })

    it('is kept however long its texts are', () => {
      const deep = `{"a": "${'\\n'.repeat(4_100_000)} b"}`
      expect((told(deep) as { in: string }).in === deep.replace(': ', ':')).toBe(true)
    })

    it('is the same text where the same is told with other white space', () => {
      const deep = '{\n\t"a": [1.50 , "b \\" : c"],\r "z":null}'
      expect(told(deep)).toMatchObject({ in: '{"a":[1.50,"b \\" : c"],"z":null}' })
    })

    it('is read as far as it goes where several values are', () => {
      expect(told('[{"a":1},[2],3]')).toMatchObject({ in: '[{"a":1},[2],3]' })
      expect(decode(`[${'['.repeat(64)}1${']'.repeat(64)},[2],{"a":[]}]`)).toMatchObject({
        length: 3,
        1: [2],
        2: { a: [] },
      })
    })

    it('keeps no secret', () => {
      const deep = '[{"userToken": "canary-1", "more": {"encryptKey":"canary-2"}}]'
      expect(told(deep)).toMatchObject({
        in: '[{"userToken":"[redacted]","more":{"encryptKey":"[redacted]"}}]',
      })
    })

    it('may be long, beside what is long itself', () => {
      const long = `[${Array.from({ length: 60_000 }, (_, n) => `[${n}]`)}]`
      const [deep, wide] = decode(`[${around(long).slice(1, -1)},${long}]`) as unknown[][]
      expect((deep!.flat(62)[0] as { in: string }).in === long).toBe(true)
      expect(JSON.stringify(wide) === long).toBe(true)
    })
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
