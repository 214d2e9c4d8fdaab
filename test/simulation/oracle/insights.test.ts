import { describe, expect, it } from 'vitest'
import { mayBeLast } from './insights.ts'

const minute = 60_000
const told = [10 * minute, 60 * minute, 120 * minute].map(time => ({ time }))
const calm = { end: 300 * minute, isInterrupted: false }

describe('of answers about one value, the last that is stored may be', () => {
  it('the last alone, where nothing came between', () => {
    expect(mayBeLast(calm, told)).toEqual(told.slice(2))
  })

  it('the one before it too, where the last came just now', () => {
    expect(mayBeLast({ ...calm, end: 121 * minute }, told)).toEqual(told.slice(1))
  })

  it('the one before a failover to a history that did not have the last', () => {
    const rewound = [{ from: 100 * minute, to: 130 * minute }]
    expect(mayBeLast({ ...calm, rewound }, told)).toEqual(told.slice(1))
  })

  it('the last alone, where history went back to a time after it', () => {
    const rewound = [{ from: 140 * minute, to: 150 * minute }]
    expect(mayBeLast({ ...calm, rewound }, told)).toEqual(told.slice(2))
  })

  it('any of them, where processes were killed', () => {
    expect(mayBeLast({ ...calm, isInterrupted: true }, told)).toEqual(told)
  })
})
