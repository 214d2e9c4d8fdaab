import { analyticsSwitches } from './analytics/switches.ts'
import { playerSwitches } from './players/switches.ts'
import { type Choice, choice, type Quantity, quantity } from './switch.ts'

/**
 * Where the documents leave the provider's behaviour open, the sandbox can be set to each of the ways it is
 * known or suspected to behave. A client must be right in every position.
 */
export const switchTable = {
  appFeed: choice(
    'sliding-window',
    ['consuming', 'sliding-window', 'redelivering'],
    'events of an app: each served once, all of the last seconds each time, or once with some served again',
  ),
  feedShape: choice(
    'array',
    ['array', 'object', 'object-with-next-id', 'list'],
    'data of the app events; an object is one event at a time',
  ),
  listShape: choice(
    'list',
    ['list', 'records', 'beside', 'item', 'named'],
    'data of room events, recordings, quizzes and polls: an object with list, with a list of another name, an array beside its nextId, one item with the nextId among its fields, or each item under a name of its own',
  ),
  batchItems: quantity(
    1_000,
    'items',
    'a batch of room events, recordings, quizzes or polls holds no more, whatever is asked',
  ),
  logEnd: choice(
    'null',
    ['null', 'empty', 'absent', 'same'],
    'nextId where a listing ends; same names a page without items that names itself',
  ),
  emptyPages: choice(
    'none',
    ['none', 'between'],
    'whether a listing that goes on has pages without items between the others',
  ),
  regions: choice(
    'one',
    ['one', 'two'],
    'where rooms are: one: every region knows all rooms; two: each is in ap or in eu, and no other region knows it or tells of it',
  ),
  feedWindowSeconds: quantity(30, 'seconds', 'length of the sliding window of the app events'),
  feedMemorySeconds: quantity(
    3600,
    'seconds',
    'events leave the app feed this long after their room is destroyed',
  ),
  tail: choice('valid', ['valid', 'refused'], 'whether a nextId still works once its listing has ended'),
  nextIdType: choice('string', ['string', 'number'], 'type of nextId'),
  sequence: choice('contiguous', ['contiguous', 'holes'], 'whether the sequence of a room skips numbers'),
  sequenceScope: choice('room', ['room', 'app'], 'what the sequence counts through'),
  missingLogs: choice(
    'none',
    ['none', 'without-code', 'with-code'],
    'whether the log of a room is answered with 404 for half a minute now and then, although it is served later',
  ),
  mutedRooms: choice(
    'none',
    ['none', 'for-a-while', 'for-good'],
    'whether what is asked about one room in three is refused with code 30403200, for five minutes now and then or at all times',
  ),
  roomReuse: choice('off', ['off', 'on'], 'whether a destroyed room opens again under the same roomUuid'),
  roomMemorySeconds: quantity(3600, 'seconds', 'a room is destroyed about this long after its class ended'),
  widgetPath: choice('without-region', ['without-region', 'with-region'], 'path of quiz and poll data'),
  widgetKeys: choice('dotted', ['nested', 'dotted'], 'keys of changeProperties: extra: {a} or "extra.a"'),
  widgetItemSequence: choice('present', ['present', 'absent'], 'whether quiz and poll items are numbered'),
  submitter: choice('operator', ['operator', 'fromUser'], 'which field of a submission names the student'),
  emptyRoomLists: choice(
    'list',
    ['list', 'no-data'],
    'what the lists and logs of a room answer where they have nothing: an empty list, or no data',
  ),
  personIds: choice(
    'present',
    ['present', 'absent'],
    'whether everybody in events, quizzes and polls is told with a userUuid; absent: one in three has none',
  ),
  streamUuids: choice(
    'uid',
    ['uid', 'other'],
    'uuid of the stream that a user sends: the uid in calls, or a number of its own',
  ),
  roles: choice('number', ['number', 'word'], 'how the events of a room tell what somebody is in the class'),
  crowds: choice(
    'named',
    ['named', 'counted'],
    'those who leave together at the end of a class: each by name, or as a number alone',
  ),
  voteOptions: choice(
    'index',
    ['index', 'object', 'unknown'],
    'how a vote names each option: by its number, by an object that has it, or by one that no document shows',
  ),
  classRestart: choice('off', ['off', 'on'], 'whether most classes that ended are soon started again, once'),
  eventTimes: choice(
    'present',
    ['present', 'absent', 'far'],
    'whether those who come and go are told with a time; absent: and they talk before the class begins; far: one in five with a time days ahead',
  ),
  rewardTotal: choice(
    'total',
    ['total', 'totalReward'],
    'what the event of a reward calls how much somebody has then',
  ),
  recordingEndState: choice('2', ['2', '0'], 'state of the event that a recording stopped'),
  stateMoves: choice('any', ['any', 'strict'], 'whether a classroom may go back to an earlier state'),
  uploadAnswer: choice(
    'array',
    ['array', 'object'],
    'data of an upload: all public resources of the room, or the uploaded one alone',
  ),
  ...analyticsSwitches,
  ...playerSwitches,
} as const

type Table = typeof switchTable
export type SwitchName = keyof Table
export type Switches = {
  readonly [Name in SwitchName]: Table[Name] extends Choice<infer Value> ? Value : number
}

export const defaultSwitches = Object.fromEntries(
  Object.entries(switchTable).map(([name, { default: standard }]) => [name, standard]),
) as Switches

export class SwitchError extends Error {
  override readonly name = 'SwitchError'
}

/**
 * Reads `name=value` settings as a command line gives them. Throws SwitchError naming the switch and what is
 * allowed.
 */
export function parseSwitches(settings: Readonly<Record<string, string>>): Partial<Switches> {
  return Object.fromEntries(Object.entries(settings).map(([name, text]) => [name, parseSwitch(name, text)]))
}

function parseSwitch(name: string, text: string): string | number {
  if (!isSwitch(name)) {
    throw new SwitchError(`there is no switch ${name}; there are ${Object.keys(switchTable).join(', ')}`)
  }
  const entry: Choice | Quantity = switchTable[name]
  if ('values' in entry) {
    if (entry.values.includes(text)) return text
    throw new SwitchError(`switch ${name} must be ${entry.values.join(' or ')}`)
  }
  const amount = Number(text)
  if (text.trim() !== '' && Number.isFinite(amount) && amount >= 0) return amount
  throw new SwitchError(`switch ${name} must be a number of ${entry.unit}`)
}

function isSwitch(name: string): name is SwitchName {
  return Object.hasOwn(switchTable, name)
}
