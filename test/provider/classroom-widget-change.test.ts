import { describe, expect, it } from 'vitest'
import { nestKeys, widgetChange } from '../../src/provider/classroom/index.ts'

const started = { state: 1, extra: { popupQuizId: 'q', totalCount: 4, items: ['A', 'B'] } }

describe('a widget change', () => {
  it.each([
    ['nested', { state: 1, extra: { popupQuizId: 'q', totalCount: 4, items: ['A', 'B'] } }],
    ['dotted', { state: 1, 'extra.popupQuizId': 'q', 'extra.totalCount': 4, 'extra.items': ['A', 'B'] }],
    ['mixed', { 'extra.popupQuizId': 'q', state: 1, extra: { totalCount: 4 }, 'extra.items': ['A', 'B'] }],
    ['beside extra', { state: 1, popupQuizId: 'q', totalCount: 4, items: ['A', 'B'] }],
  ])('reads the same from %s keys', (_, properties) => {
    expect(widgetChange(properties)).toEqual(started)
  })

  it('takes the field inside extra before the one beside it', () => {
    expect(widgetChange({ pollId: 'beside', 'extra.pollId': 'inside' }).extra).toEqual({ pollId: 'inside' })
  })

  it('keeps an extra that is no object', () => {
    expect(widgetChange({ extra: 'none', pollId: 'p' })).toEqual({
      state: undefined,
      extra: { extra: 'none', pollId: 'p' },
    })
  })
})

describe('dotted keys', () => {
  it('become levels, as many as there are dots', () => {
    expect(nestKeys({ 'extra.pollDetails.0': { num: 1 }, 'extra.pollDetails.1': { num: 2 } })).toEqual({
      extra: { pollDetails: { 0: { num: 1 }, 1: { num: 2 } } },
    })
  })

  it('stay names when they are deeper than anything documented', () => {
    const deep = Array.from({ length: 5_000 }, () => 'a').join('.')
    expect(nestKeys({ [deep]: 1 })).toEqual({ [deep]: 1 })
  })

  it('never reach a prototype', () => {
    const nested = nestKeys(JSON.parse('{"__proto__.polluted": 1, "constructor.prototype.polluted": 1}'))
    expect(Object.keys(nested)).toEqual(['__proto__', 'constructor'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(nested)).toBe(Object.prototype)
  })
})
