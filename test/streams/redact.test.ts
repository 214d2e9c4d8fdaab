import { expect, it } from 'vitest'
import { canonicalJson, redact } from '../../src/streams/parts/items.ts'

it('values under names of secrets become a mark at any depth, whatever they are', () => {
  const item = {
    taskToken: 'x',
    list: [{ boardToken: { a: 1 }, url: 'u' }],
    'extra.rtmToken': ['y'],
    total: 2,
  }
  expect(redact(item)).toEqual({
    taskToken: '[redacted]',
    list: [{ boardToken: '[redacted]', url: 'u' }],
    'extra.rtmToken': '[redacted]',
    total: 2,
  })
})

it('a secret that is not there is not marked, and an item without secrets stays the same object', () => {
  const item = { taskToken: null, url: 'https://files.example/?token=1' }
  expect(redact(item)).toBe(item)
})

it('a key __proto__ stays a name among others', () => {
  const item = redact(JSON.parse('{"__proto__": {"taskToken": "x"}, "a": 1}'))
  expect(JSON.stringify(item)).toBe('{"__proto__":{"taskToken":"[redacted]"},"a":1}')
  expect(Object.getPrototypeOf(item)).toBe(Object.prototype)
})

it('equal values have equal texts whatever the order of their keys, and big integers keep their digits', () => {
  const text = '{"a":[1,null,"\\ud800"],"b":{"c":9007199254740993,"d":true}}'
  expect(canonicalJson({ b: { d: true, c: 9_007_199_254_740_993n }, a: [1, null, '\ud800'] })).toBe(text)
})
