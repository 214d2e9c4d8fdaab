import { expect, it } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { createFaults } from './faults.ts'
import { type Call, Kernel, type Process } from './kernel.ts'
import { createTrace } from './trace.ts'

function start() {
  const happened: string[] = []
  const trace = createTrace()
  /** Something of the real world, which the kernel cannot see under way. */
  const takesTime = async (what: string) => {
    for (let turn = 0; turn < 30; turn++) await new Promise(resolve => setTimeout(resolve))
    happened.push(what)
  }
  const kernel = new Kernel({
    ...{ start: 0, random: seededRandom(1), trace },
    faults: createFaults({ random: seededRandom(1), classes: [], isThorough: false, struck: () => {} }),
    onKill: ({ name }) => takesTime(`${name} is dead`),
  })
  const process = (name: string): Process => ({ name, isAlive: true, frozenUntil: 0 })
  const call = (name: string): Call<void> => ({
    ...{ kind: 'database', name, broken: async () => new Error('broken') },
    work: async () => void happened.push(name),
  })
  return { kernel, happened, trace, process, call }
}

it('lets nothing happen before a process that was killed has died', async () => {
  const { kernel, happened, process, call } = start()
  const first = process('first')
  void kernel.perform(process('second'), call('ask'))
  void kernel.perform(first, call('never asked'))
  void kernel.kill(first)
  await kernel.runUntil(10)
  expect(happened).toEqual(['first is dead', 'ask'])
})

it('lets others go on while one waits for what only they can bring', async () => {
  const { kernel, happened, process, call } = start()
  const freed = Promise.withResolvers<void>()
  const waiting: Call<void> = {
    ...call('wait'),
    work: async park => {
      park()
      await freed.promise
      happened.push('freed')
    },
  }
  void kernel.perform(process('first'), waiting)
  await kernel.runUntil(10)
  void kernel.perform(process('second'), { ...call('free'), work: async () => freed.resolve() })
  await kernel.runUntil(20)
  expect(happened).toEqual(['freed'])
})

it('traces of an answer its digest instead of its bytes', () => {
  const { trace } = start()
  trace.add(1, 'one', 'ask', { status: 200, bytes: Buffer.from('much') })
  trace.add(1, 'one', 'ask', { status: 200, bytes: Buffer.from('more') })
  const [much, more] = trace.entries
  expect(much).toMatch(/^1 one ask \{"status":200,"bytes":"[0-9a-f]{8}"\}$/)
  expect(more).not.toBe(much)
})
