import { expect, it } from 'vitest'
import { callError } from '../../src/client/errors.ts'
import { operations } from '../../src/provider/index.ts'

const { setRoomState } = operations.classroom
const { callSearch } = operations.analytics

it.each([
  ['beside its own status', setRoomState, 409, 30_409_100, 'the class has been started'],
  ['beside a success of HTTP', setRoomState, 200, 20_404_100, 'there is no such classroom'],
  ['where no document tells its status', callSearch, 200, 400, 'Invalid parameters'],
  ['beside another status', callSearch, 429, 500, 'Unknown error'],
] as const)('an error says what its code means, %s', (_, operation, status, code, meaning) => {
  const text = `the provider answered with code ${code}`
  expect(callError(operation, { kind: 'conflict', text, status, code }).message).toMatch(
    `${text}: ${meaning}`,
  )
})

it('an error says what its status means where its code is of no document', () => {
  const { message } = callError(setRoomState, { kind: 'not_found', text: 'no', status: 404, code: 7 })
  expect(message).toBe('classroom.setRoomState: no: there is no such resource')
})

it('an error with a code and a status of no document says no more than that', () => {
  const { message } = callError(setRoomState, { kind: 'unexpected_code', text: 'no', status: 200, code: 7 })
  expect(message).toBe('classroom.setRoomState: no')
})
