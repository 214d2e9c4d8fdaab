/**
 * What the contract leaves open, question by question, with the answers that its words allow. README.md names the
 * sentence behind each. The first answer of each question is the plain one.
 */
export const questions = {
  contentType: ['application/json', 'application/json;charset=UTF-8', 'text/plain', 'none'],
  // Operation 10: data is an Object "with roomUuid, cmd, sequence, version and data", and nothing is said of batches.
  feed: ['array', 'one event', 'one event and nextId', 'list', 'list and nextId', 'events', 'records'],
  feedIdle: ['as its shape', 'no data', 'null', '{}'],
  feedMemory: ['consumes', 'repeats all'],
  // Operations 5, 9, 17 and 18: data is an Object "holding the items and the next nextId"; its fields are not shown.
  listName: ['list', 'items', 'records', 'events', 'sequences', 'rows', 'data', 'recordList'],
  listTotals: ['none', 'total and count', 'others'],
  emptyList: ['empty', 'null', 'left out', '{}', 'null data'],
  nextId: ['string', 'number', 'beyond 2^53', 'with odd characters'],
  end: ['null', 'absent', 'empty string', 'the same with an empty page', 'an empty page, then null'],
  pageSize: ['3', '100', '1'],
  pageOrder: ['ascending', 'shuffled in a page', 'an empty page between'],
  tail: ['stays valid', 'refused after the end'],
  sequence: ['from 1', 'with holes', 'from 0', 'beyond 2^53', 'one row for all rooms'],
  eventExtra: ['none', 'ts and more'],
  version: ['3', 'beyond 2^31'],
  // Fields of users in cmd 3 and 20 are not shown; arrays without users may be left out.
  user: ['full', 'role as a word', 'userUuid alone', 'without updateTime', 'without userUuid'],
  noUsers: ['[]', 'absent', 'null'],
  stopState: ['0', '2'],
  eventOperator: ['full', 'without name', 'absent', 'without userUuid'],
  resource: ['full', 'as in the table of events', 'uuid, name and url'],
  noResources: ['[]', 'null', 'absent'],
  resourcesLapse: ['never', 'two answers without data'],
  // Which moment "Classroom does not exist" is true of.
  missingRoom: ['never', 'once at first', 'once in between'],
  // Widget items.
  change: ['nested', 'dotted', 'mixed'],
  widgetOperator: ['full', 'without userUuid'],
  widgetWrap: ['none', 'data', 'data with sequence', 'sequence'],
  cause: ['string', 'object', 'absent'],
  quizStudent: ['in changeProperties', 'in extra', 'dotted extra'],
  pollStudent: ['in extra', 'in changeProperties', 'dotted extra'],
  quizOptions: ['strings', 'objects', 'numbers'],
  selectIndex: ['numbers', 'objects', 'texts', 'objects without an index'],
  pollItems: ['object', 'array', 'object of objects'],
  pollDetails: ['full', 'without percentage'],
  summaryIds: ['as documented', 'everywhere'],
  // Fields of recordings are not shown.
  recording: [
    'as elsewhere',
    'url alone',
    'recordDetails alone',
    'without status',
    'state instead of status',
  ],
  // Call analytics.
  code: ['200', '0'],
  noCalls: ['[]', 'null', 'absent'],
  message: ['text', 'null', 'absent'],
  callExtra: ['none', 'more fields'],
  ongoing: ['destroyed_ts 0', 'destroyed_ts absent', 'destroyed_ts null', 'destroyed_ts now'],
  searchMatches: ['start', 'overlap'],
  hasMore: ['pages that follow', 'false though pages follow', 'true on a short page'],
  ownPageSize: ['as asked', '3'],
  repeatedSession: ['none', 'twice in an answer'],
  serverUsers: ['asked for', 'left out before paging', 'left out after paging'],
  pair: [
    '[ts, value]',
    '{ts, value}',
    '{k, v}',
    '{key, value}',
    '{timestamp, value}',
    '{<ts>: value}',
    'with a third',
  ],
  ownPeer: ['0', 'absent'],
  metricExtra: ['none', 'more fields'],
  noData: ['entry with []', 'no entry'],
  limitRefusal: ['none', '200', '300', '400', '429'],
  insight: ['ts and metric', 'and more fields', 'descending'],
  realtime: ['ts and metric', 'and more fields', 'ts and value', 'descending'],
  realtimeEnd: ['exclusive', 'inclusive'],
  perUser: ['not asked for', 'alone', 'beside those of the channel'],
  // Cloud players.
  // Names of channels have at most 64 bytes.
  channelName: ['short', '64 bytes'],
  streamUrl: ['plain', 'with a user and a token'],
  playersEntry: ['full', 'thin', 'with account'],
  playersEnd: ['empty string', 'absent', 'null'],
  playersPage: ['all', 'two a page'],
  playersStatus: ['200', '203'],
} as const

export type Question = keyof typeof questions
export type Reading = { readonly [Q in Question]: (typeof questions)[Q][number] }

const names = Object.keys(questions) as Question[]

/** The plain answer of every question, but for those that are given. */
export function reading(answers: Partial<Reading> = {}): Reading {
  return { ...choose(() => 0), ...answers }
}

/** One answer of each question by chance. */
export function drawnReading(seed: number): Reading {
  let state = seed
  return choose(count => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % count
  })
}

/** The n-th answer of each question that has so many, else the first of a second round. */
export function columnReading(n: number): Reading {
  return choose(count => n % count)
}

function choose(place: (count: number) => number): Reading {
  return Object.fromEntries(
    names.map(name => [name, questions[name][place(questions[name].length)]]),
  ) as unknown as Reading
}
