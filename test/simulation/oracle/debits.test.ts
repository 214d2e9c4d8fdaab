import { describe, expect, it } from 'vitest'
import { examineDebits } from './debits.ts'
import type { Examination } from './examination.ts'

const second = 1_000
const begin = Date.UTC(2026, 0, 5, 8)

interface Told {
  /** Of searches for calls, in seconds from the beginning. */
  readonly arrived: readonly number[]
  readonly debited: readonly number[]
  /** When each of them was settled, where any was. */
  readonly settled?: readonly number[]
  readonly assumed?: readonly number[]
  readonly rewound?: readonly { readonly from: number; readonly to: number }[]
}

/** What is said of a world whose debits were dated by the world's clock. */
async function judge({ arrived, debited, settled = [], assumed = [], rewound = [] }: Told) {
  const all = arrived.map(at => ({ app: 'alpha', operation: 'callSearch', time: begin + at * second }))
  const dated = (operation: string) => (at: number, n: number) => ({
    ...{ app: 'alpha', operation, counter: 'key call-search', at: begin + at * second },
    ...{ sentAt: begin + at * second, settledAt: n in settled ? begin + settled[n]! * second : null },
  })
  const debits = [...debited.map(dated('analytics.callSearch')), ...assumed.map(dated('lost history'))]
  const rows = async (text: string) => {
    if (text.includes('to_regclass')) return [{ is: true }]
    if (text.includes('as counter')) return debits
    if (text.includes('as forgotten')) return [{ forgotten: false, total: debits.length }]
    return []
  }
  const examination = {
    sandbox: { arrivals: { list: () => all, count: all.length } },
    ...{ rows, end: begin + 3_600 * second, isEnd: true },
    rewound: rewound.map(({ from, to }) => ({ from: begin + from * second, to: begin + to * second })),
  } as unknown as Examination
  return (await examineDebits(examination)).map(({ text }) => text)
}

const unheard = expect.stringContaining('nobody had debited it')

describe('the oracle of debits', () => {
  it('finds nothing where each request was debited just before, whatever was debited in vain', async () => {
    expect(await judge({ arrived: [1, 31, 32], debited: [0, 10, 30, 32] })).toEqual([])
  })

  it('finds a request that was debited too long before, after it, or together with another one', async () => {
    expect(await judge({ arrived: [20], debited: [0] })).toEqual([unheard])
    expect(await judge({ arrived: [1], debited: [2] })).toEqual([unheard])
    expect(await judge({ arrived: [1, 2], debited: [0] })).toEqual([unheard])
  })

  it('finds a request that arrives when its debit was settled, and none where one stands open', async () => {
    const early = expect.stringContaining('its debit was settled before')
    expect(await judge({ arrived: [1.02], debited: [1], settled: [1] })).toEqual([early])
    expect(await judge({ arrived: [1.02], debited: [1], settled: [1.04] })).toEqual([])
    // Who was given leave and did not go gives it back.
    expect(await judge({ arrived: [2.02], debited: [1, 2], settled: [1.5, 3] })).toEqual([])
    expect(await judge({ arrived: [1.2, 2.5], debited: [1, 2], settled: [3, 2.1] })).toEqual([early])
    expect(await judge({ arrived: [1.2, 2.05], debited: [1, 2], settled: [3, 2.1] })).toEqual([])
  })

  it('wants as many assumed as were debited in a history that is gone', async () => {
    const lost = { arrived: [1, 11, 12, 60], debited: [0, 59], rewound: [{ from: 10, to: 15 }] }
    expect(await judge({ ...lost, assumed: [30, 30] })).toEqual([])
    expect(await judge({ ...lost, assumed: [30] })).toEqual([expect.stringContaining('1 were assumed')])
    expect(await judge({ ...lost, debited: [0], arrived: [1, 11, 12] })).toEqual([])
  })
})
