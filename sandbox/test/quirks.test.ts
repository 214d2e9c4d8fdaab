import { describe, expect, it } from 'vitest'
import { type Quirks, unstorable } from '../src/index.ts'
import { at, play } from './play.ts'

interface Coming {
  readonly userUuid: string
  readonly role: number
  readonly streamUuid: string
}

function odd(quirks: Partial<Quirks>) {
  const stage = play({ quirks })
  const { roomUuid } = stage.running()
  return { ...stage, path: at(roomUuid).events, events: stage.linesOf('event', roomUuid) }
}

describe('an oddity', () => {
  it('unknownCmd is an event type that no document names', () => {
    const { events } = odd({ unknownCmd: 0.2 })
    const novel = events.filter(event => event.oddity === 'unknownCmd')
    expect(novel.length).toBeGreaterThan(0)
    expect(novel.every(event => event.cmd === 7001 && !event.malformed)).toBe(true)
  })

  it.each([
    ['nul', '\\u0000'],
    ['loneSurrogate', '\\ud83d"'],
  ] as const)('%s stands in messages, escaped in the JSON', async (oddity, escaped) => {
    const { get, path } = odd({ [oddity]: 1 })
    const { text } = await get(`${path}?cmd=3`)
    expect(text.split(escaped).length - 1).toBe(100)
  })

  it('malformedRecord is a record whose cmd is a word; the truth marks it and the rest of the page is whole', async () => {
    const { drain, path, events } = odd({ malformedRecord: 0.1 })
    const { items } = await drain(path)
    const broken = items.filter(item => item.cmd === 'chat').map(item => item.sequence)
    expect(broken.length).toBeGreaterThan(0)
    expect(broken).toEqual(events.filter(event => event.malformed).map(event => event.sequence))
    expect(items.length).toBe(events.length)
  })

  it('malformedData is a message that is no string', () => {
    const { events } = odd({ malformedData: 0.1 })
    const malformed = events.filter(event => event.malformed)
    expect(malformed.length).toBeGreaterThan(0)
    for (const { data } of malformed) expect(data).toMatchObject({ message: 42 })
  })

  it('unstorable is a message that is known again, and that the truth says nobody has to store', () => {
    const { events } = odd({ unstorable: 0.1 })
    const marked = events.filter(({ data }) => 'message' in data && data.message === unstorable)
    expect(marked.length).toBeGreaterThan(0)
    expect(marked).toEqual(events.filter(event => event.malformed))
  })

  it('assistants are people who come as neither teacher nor student, one in a room', () => {
    const rolesOf = (quirks: Partial<Quirks>) =>
      odd(quirks).events.flatMap(({ data }) => {
        const { onlineUsers = [] } = data as { readonly onlineUsers?: readonly Coming[] }
        return onlineUsers.filter(({ role }) => role === 3).map(({ userUuid }) => userUuid)
      })
    expect(new Set(rolesOf({ assistants: 1 })).size).toBe(1)
    expect(rolesOf({})).toEqual([])
  })

  it('sharedMachine gives two students of a room the same number', () => {
    const numbersOf = (quirks: Partial<Quirks>) => {
      const coming = odd(quirks).events.flatMap(({ data }) => {
        const { onlineUsers = [] } = data as { readonly onlineUsers?: readonly Coming[] }
        return onlineUsers
      })
      const people = new Set(coming.map(({ userUuid }) => userUuid)).size
      return people - new Set(coming.map(({ streamUuid }) => streamUuid)).size
    }
    expect(numbersOf({ sharedMachine: 1 })).toBe(1)
    expect(numbersOf({})).toBe(0)
  })

  it('otherVersion has some events told by another version of the service, and the truth says which', async () => {
    const { drain, path, events } = odd({ otherVersion: 0.2 })
    const { items } = await drain(path)
    const versions = items.map(({ version }) => version)
    expect(new Set(versions)).toEqual(new Set([1, 2]))
    expect(versions).toEqual(events.map(({ version = 1 }) => version))
  })

  it('openQuiz counts those who come while a quiz runs among those who could answer', () => {
    const counts = (quirks: Partial<Quirks>) =>
      Map.groupBy(
        odd(quirks)
          .linesOf('widget')
          .filter(({ widget, step }) => widget === 'popupQuiz' && step !== 'submission'),
        ({ id }) => id,
      )
        .values()
        .map(items => new Set(items.map(({ item }) => JSON.stringify(item).match(/totalCount":(\d+)/)?.[1])))
        .filter(({ size }) => size > 1)
        .toArray()
    expect(counts({ openQuiz: 1 }).length).toBeGreaterThan(0)
    expect(counts({})).toEqual([])
  })

  it('uncountedPoll tells of no option how many voted for it', () => {
    const tallies = (quirks: Partial<Quirks>) =>
      odd(quirks)
        .linesOf('widget')
        .filter(({ widget }) => widget === 'poll')
        .filter(({ item }) => JSON.stringify(item).includes('"num"'))
    expect(tallies({ uncountedPoll: 1 })).toEqual([])
    expect(tallies({}).length).toBeGreaterThan(0)
  })

  it('malformedWidgetItem is a submission without properties that can be read', () => {
    const { linesOf } = play({ quirks: { malformedWidgetItem: 0.2 } })
    const malformed = linesOf('widget').filter(line => line.malformed)
    expect(malformed.length).toBeGreaterThan(0)
    for (const { step, item } of malformed) {
      expect(step).toBe('submission')
      expect(item).toMatchObject({ changeProperties: 'none' })
    }
  })

  it('brokenRecording has a class recorded in many pieces, each whole', () => {
    const { linesOf } = play({ quirks: { brokenRecording: 1 } })
    const pieces = Map.groupBy(linesOf('recording'), ({ roomUuid }) => roomUuid)
    const [most = []] = [...pieces.values()].toSorted((a, b) => b.length - a.length)
    expect(most.length).toBeGreaterThan(20)
    expect(most.slice(0, -1).every(({ item }, n) => item.endTime === most[n + 1]!.item.startTime)).toBe(true)
  })

  it('bigSequence numbers a room above 2^53 without losing a digit', async () => {
    const { get, path, events } = odd({ bigSequence: 1 })
    const { text } = await get(path)
    const digits = [...text.matchAll(/"sequence":(\d+)/g)].map(([, number]) => BigInt(number!))
    expect(digits).toEqual(events.slice(0, 100).map(event => event.sequence))
    expect(digits.slice(0, 3)).toEqual([2n ** 53n + 1n, 2n ** 53n + 2n, 2n ** 53n + 3n])
  })

  it('changes nothing else in the school', () => {
    const plain = play().linesOf('event')
    const strange = play({ quirks: { nul: 0.5, malformedRecord: 0.2 } }).linesOf('event')
    expect(strange.map(event => [event.cmd, event.at])).toEqual(plain.map(event => [event.cmd, event.at]))
  })
})
