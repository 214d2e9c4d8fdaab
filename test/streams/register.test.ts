import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { called } from '../../src/provider/operation.ts'
import { streams } from '../../src/streams/index.ts'
import { roomStreamNames, streamNames } from '../support/streams.ts'

const folder = new URL('../../src/streams/', import.meta.url)

it('the register holds exactly the streams of the folder, each under its own name', () => {
  const files = readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isFile() && !['index.ts', 'stream.ts', 'page.ts'].includes(entry.name))
    .map(({ name }) => name.replace(/\.ts$/, ''))
  expect(Object.keys(streams).sort()).toEqual(files.sort())
  expect(Object.values(streams).map(({ name }) => name)).toEqual(Object.keys(streams))
  expect(Object.keys(streams)).toEqual([...streamNames])
})

it('each stream polls an operation of its own', () => {
  const operations = Object.values(streams).map(({ operation }) => called(operation))
  expect(new Set(operations).size).toBe(streamNames.length)
})

it('each stream of rooms polls its operation of the contract, with the parameters that it takes', () => {
  const names = ['app-events' as const, ...roomStreamNames].map(name => streams[name].operation.name)
  expect(names).toEqual(['appEvents', 'roomEvents', 'popupQuiz', 'poll', 'recordings', 'resources'])
  expect(streams['room-events'].request(null)).toEqual({})
  expect(streams['popup-quiz'].request('n7')).toEqual({ nextId: 'n7' })
  expect(streams.poll.request('n7')).toEqual({ nextId: 'n7' })
  expect(streams.recordings.request('n7')).toEqual({ nextId: 'n7' })
  expect(streams.resources.request('n7')).toEqual({})
})

it('an answer is read whichever way its data is shaped', () => {
  const { read } = streams['room-events']
  expect(read({ code: 0, data: { list: [1, 2], nextId: 7 } })).toEqual({ items: [1, 2], nextId: '7' })
  expect(read({ code: 0, data: [1] })).toEqual({ items: [1], nextId: undefined })
})
