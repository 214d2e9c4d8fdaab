import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineForgotten } from './forgotten.ts'

const person = { app: 'alpha', kind: 'user', id: 'user-7x' } as const
const masked = 'forgotten-0123456789abcdef'
const own = '{"user_uuid": "user-7x", "message": "hello"}'
const other = '{"user_uuid": "user-7", "message": "of user-7xy"}'

/** What is said where these rows of a table became those. */
async function judge(
  after: readonly string[],
  words: readonly object[] = [],
  table = 'classroom.chat_message',
) {
  const examination = { rows: async () => words } as unknown as Examination
  const before = new Map([[table, [own, other]]])
  const found = await examineForgotten(examination, [person], before, new Map([[table, after]]))
  return found.map(({ kind, text }) => `${kind}: ${text}`)
}

describe('who is forgotten', () => {
  const gone = own.replace('user-7x', masked).replace('hello', '')

  it('stands nowhere, and the others as before', async () => {
    expect(await judge([gone, other])).toEqual([])
  })

  it.each([
    ['whose ID is left', [gone, other, own], /^different: .*user-7x still stands/],
    ['whose ID is left in bytes', [gone, other, '{"body": "\\x757365722d3778"}'], /user-7x still stands/],
    ['whose rows are gone', [other], /^lost: .*2 rows, and are 1/],
    ['with whom another goes', [gone, gone], /^lost: .*of others there was/],
    ['who goes by two names', [gone, gone.replace('0123', '3210'), other], /1 people have 2 pseudonyms/],
  ])('is found where it is one %s', async (_, after, said) => {
    expect(await judge(after)).toContainEqual(expect.stringMatching(said))
  })

  it.each([
    ['is called as before', { user: masked, name: 'Ada', message: '' }, /is called Ada/],
    ['wrote what they wrote', { user: masked, name: masked, message: 'hello' }, /wrote hello/],
  ])('is found where it %s', async (_, words, said) => {
    expect(await judge([gone, other], [words])).toEqual([expect.stringMatching(said)])
  })
})
