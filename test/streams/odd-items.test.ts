import { describe, expect, it } from 'vitest'
import { streams } from '../../src/streams/index.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from './pages.ts'

/** Items with a field of another kind than the contract shows: only that field is not read. */

type Item = Readonly<Record<string, Json>>

describe('an item of a list with a field of another kind', () => {
  const listed = (stream: 'recordings' | 'resources', ...items: readonly Json[]) => {
    const { rows, rejects } = streams[stream].toRows(pageOf({ items }), null)
    return { rows: rows[stream === 'recordings' ? 'classroom.recording' : 'classroom.resource'], rejects }
  }

  it.each([
    ['a size in a text', { size: '5' }, { size: 5, extra: null }],
    ['a size beyond 2^53', { size: 2n ** 60n }, { size: 2 ** 60, extra: null }],
    ['a size that is a word', { size: 'big' }, { size: null, extra: { size: 'big' } }],
    ['progress in a word', { taskProgress: 'half' }, { task_progress: 'half', extra: null }],
    ['progress in a number', { taskProgress: 50 }, { task_progress: 50, extra: null }],
    ['a time that is none', { updateTime: 'then' }, { extra: { updateTime: 'then' } }],
    ['an address that is none', { url: 7 }, { url: null, extra: { url: 7 } }],
  ])('is a resource with %s', (_, odd: Item, stored) => {
    const { rows, rejects } = listed('resources', { resourceUuid: 'doc', resourceName: 'n', ...odd })
    expect(rows).toMatchObject([{ resource_uuid: 'doc', resource_name: 'n', ...stored }])
    expect(rejects).toEqual([])
    const event = {
      cmd: 1003,
      sequence: 1,
      version: 1,
      data: { action: 1, resources: [{ resourceUuid: 'doc', ...odd }] },
    }
    const change = streams['room-events'].toRows(pageOf({ items: [event] }), null)
    expect(change.rows['classroom.resource_change']).toMatchObject([stored])
    expect(change.rejects).toEqual([])
  })

  it.each([
    ['an ID that is a number', { recordId: 77 }, { record_id: '77', status: 2, extra: null }],
    ['an ID beyond 2^53', { recordId: 2n ** 60n }, { record_id: String(2n ** 60n), extra: null }],
    ['a status that is a word', { status: 'ended' }, { status: null, extra: { status: 'ended' } }],
    ['an end that is no time', { endTime: 1e18 }, { ended_at: null, extra: { endTime: 1e18 } }],
  ])('is a recording with %s', (_, odd: Item, stored) => {
    const { rows, rejects } = listed('recordings', { recordId: 'r1', sid: 's', status: 2, ...odd })
    expect(rows).toMatchObject([{ sid: 's', ...stored }])
    expect(rejects).toEqual([])
  })

  it('whose files are no list is a recording, and they are set aside', () => {
    const { rows, rejects } = listed('recordings', { recordId: 'r1', status: 2, recordDetails: 'a.mp4' })
    expect(rows).toMatchObject([{ record_id: 'r1', status: 2 }])
    expect(rejects.map(({ reason, detail }) => [reason, detail.split(':')[0]])).toEqual([
      ['wrong_type', 'recordDetails'],
    ])
  })

  it('whose files have no address that is understood is a recording, and keeps them beside it', () => {
    const recordDetails = [{ url: 'https://files.example/1.mp4' }, { fileUrl: 'https://files.example/2.mp4' }]
    const [row] = listed('recordings', { recordId: 'r1', status: 2, recordDetails }).rows ?? []
    expect(row).toMatchObject({ extra: { recordDetails } })
  })

  it('that an answer lists twice is the last of them, with the other beside it', () => {
    const one = { recordId: 'r1', sid: 's', status: 1 }
    expect(listed('recordings', one, one).rows).toMatchObject([{ extra: null }])
    expect(listed('recordings', one, { ...one, status: 2, more: 1 }).rows).toMatchObject([
      { status: 2, extra: { more: 1, others: [one] } },
    ])
    const doc = { resourceUuid: 'doc', size: 5 }
    expect(listed('resources', { ...doc, taskToken: 't' }, { ...doc, size: 6 }).rows).toMatchObject([
      { size: 6, extra: { others: [doc] } },
    ])
  })
})

describe('a quiz or poll', () => {
  const told = (stream: 'popup-quiz' | 'poll', ...changes: readonly Item[]) => {
    const items = changes.map(changeProperties => ({ changeProperties, operator: { userUuid: 'tom' } }))
    const { rows, rejects } = streams[stream].toRows(pageOf({ items }), null)
    const details = rejects.map(({ reason, detail }) => `${reason} ${detail.split(':')[0]}`)
    return { quizzes: rows['classroom.quiz'], polls: rows['classroom.poll'], ...{ rows, details } }
  }
  const begin = (popupQuizId: Json) => ({ extra: { popupQuizId, answerState: 1, items: ['A'] }, state: 1 })
  const poll = (more: Item) => ({ extra: { pollId: 'p1', pollingState: 1, ...more }, state: 1 })

  it('may be named by a number', () => {
    const { quizzes, rows, details } = told('popup-quiz', begin(77), {
      popupQuizId: 77,
      selectedItems: ['A'],
    })
    expect(quizzes).toMatchObject([{ quiz_id: '77', state: 'running', extra: null }])
    expect(rows['classroom.quiz_submission']).toMatchObject([{ quiz_id: '77', extra: null }])
    expect(details).toEqual([])
    expect(told('poll', poll({ pollId: 2n ** 60n })).polls).toMatchObject([{ poll_id: String(2n ** 60n) }])
  })

  it('whose name is an empty text has none', () => {
    const [quizSum, pollSum] = [
      { popupQuizId: '', selectedCount: 1 },
      { pollId: '', pollDetails: [{ num: 1 }] },
    ]
    const quiz = told('popup-quiz', begin('q1'), { extra: quizSum }, { extra: { popupQuizId: '' }, state: 0 })
    expect(quiz).toMatchObject({ quizzes: [{ quiz_id: 'q1', selected_count: 1, extra: null }], details: [] })
    const votes = told('poll', poll({}), { extra: pollSum }, { extra: { pollId: '' }, state: 0 })
    expect(votes).toMatchObject({ polls: [{ poll_id: 'p1', extra: null }], details: [] })
    expect(votes.rows['classroom.poll_tally']).toMatchObject([{ poll_id: 'p1', num: 1 }])
    expect(told('popup-quiz', { extra: { popupQuizId: '' } }).details).toEqual([])
    expect(told('poll', { extra: { pollId: '' } }).details).toEqual([])
  })

  it('whose name cannot be read is not taken for the one before', () => {
    const { quizzes, details } = told('popup-quiz', begin('q1'), begin({ id: 'q2' }))
    expect(quizzes).toMatchObject([{ quiz_id: 'q1', state: 'running' }])
    expect(details).toHaveLength(1)
  })

  it('keeps a count or a share that is told otherwise', () => {
    const end = { extra: { answerState: 0, averageAccuracy: '0.5', selectedCount: '3', correctCount: 'two' } }
    expect(told('popup-quiz', begin('q1'), end)).toMatchObject({
      quizzes: [
        { average_accuracy: 0.5, selected_count: 3, correct_count: null, extra: { correctCount: 'two' } },
      ],
      details: [],
    })
  })

  it('may tell the votes of its options in their order', () => {
    const pollDetails = [{ num: 1, percentage: 0.25 }, 'none', { num: 3, percentage: '0.75' }]
    const { rows, polls, details } = told('poll', poll({ pollDetails }))
    expect(polls).toMatchObject([{ poll_id: 'p1', state: 'running', extra: null }])
    expect(rows['classroom.poll_tally']).toMatchObject([
      { option_index: 0, num: 1, percentage: 0.25 },
      { option_index: 2, num: 3, percentage: 0.75 },
    ])
    expect(details).toHaveLength(1)
  })

  it('begins whatever its votes are told as', () => {
    const { polls, details } = told('poll', poll({ pollDetails: 'none' }))
    expect(polls).toMatchObject([{ poll_id: 'p1', state: 'running', extra: { pollDetails: 'none' } }])
    expect(details).toEqual(['wrong_type changeProperties.extra.pollDetails'])
  })

  it('that nobody ended is over when the next one begins, and when its widget is put away', () => {
    expect(told('popup-quiz', begin('q1'), begin('q2')).quizzes).toMatchObject([
      { quiz_id: 'q1', state: 'ended', ended_at: null, items: ['A'] },
      { quiz_id: 'q2', state: 'running' },
    ])
    expect(told('poll', poll({}), poll({ pollId: 'p2' }), { state: 0 }).polls).toMatchObject([
      { poll_id: 'p1', state: 'ended' },
      { poll_id: 'p2', state: 'ended' },
    ])
    expect(told('popup-quiz', begin('q1'), { state: 0 }).quizzes).toMatchObject([
      { quiz_id: 'q1', state: 'ended' },
    ])
    expect(told('popup-quiz', begin('q1'), begin('q1')).quizzes).toMatchObject([{ state: 'running' }])
  })
})

it('a player with fields of another kind is stored without them', () => {
  const odd = { createTs: 1_767_225_600_000, status: 7, uid: [1], channelName: {}, account: 9 }
  const { rows, rejects, streamState } = streams['cloud-players'].toRows(
    pageOf({ series: '', items: [{ id: 'p1', name: 'a', ...odd }], total: 1 }),
    null,
  )
  expect(rows['players.cloud_player']).toMatchObject([
    { player_id: 'p1', name: 'a', created_at: null, status: null, uid: null, channel_name: null, extra: odd },
  ])
  expect(rejects).toEqual([])
  expect(streamState).toMatchObject({ players: [{ id: 'p1', status: null, since: 1_767_225_600 }] })
})

describe('items of a quiz or poll that nobody began', () => {
  it.each([
    ['popup-quiz', { popupQuizId: undefined, selectedItems: ['A'] }],
    ['popup-quiz', { extra: { selectedCount: 1 } }],
    ['poll', { extra: { selectIndex: [0] } }],
    ['poll', { extra: { pollDetails: { 0: { num: 1 } } } }],
  ] as const)('are set aside, as of which one is not told: %s %j', (stream, changeProperties) => {
    const { rows, rejects } = streams[stream].toRows(pageOf({ items: [{ changeProperties }] }), null)
    expect(rows['classroom.widget_event']).toHaveLength(1)
    expect(rejects).toMatchObject([{ reason: 'missing_key', item: { changeProperties } }])
  })

  it('are not, where they say nothing of one', () => {
    for (const stream of ['popup-quiz', 'poll'] as const) {
      const { rejects } = streams[stream].toRows(
        pageOf({ items: [{ changeProperties: { state: 1 } }] }),
        null,
      )
      expect(rejects).toEqual([])
    }
  })
})

it('a recording stops where its stop has empty texts for IDs', () => {
  const change = (sequence: number, data: Item) => ({ cmd: 1001, sequence, version: 1, data })
  const none = { recordId: '', sid: '', resourceId: '' }
  const items = [change(1, { state: 1, recordId: 'r1' }), change(2, { state: 0, ...none })]
  const { rows, rejects } = streams['room-events'].toRows(pageOf({ items }), null)
  expect(rows['classroom.recording_state_change']).toMatchObject([
    { state: 1, record_id: 'r1' },
    { state: 0, record_id: 'r1', extra: null },
  ])
  expect(rejects).toEqual([])
})
