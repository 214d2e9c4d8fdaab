import { expect, it } from 'vitest'
import { inOrder } from './measured.ts'

const series = { sid: 's', peer: '0', mid: 20_005 }

it('values that come in the order of their times stay as they are', () => {
  const read = { ...series, pairs: '10=1,12=2.5', extras: null }
  expect(inOrder(read)).toEqual({ ...read, times: [10, 12] })
})

it('values that come in another order are sorted by their times, and what stands beside each with them', () => {
  const read = { ...series, pairs: '12=2,8=0,10=1', extras: '[5]\n\n[3]' }
  expect(inOrder(read)).toEqual({
    ...series,
    times: [8, 10, 12],
    pairs: '8=0,10=1,12=2',
    extras: '\n[3]\n[5]',
  })
})
