import { type Quirks, type Switches, switchTable } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../sandbox/src/seeded.ts'

/** What the chances of a world follow from. */
export type Seed = number | string
type SwitchName = keyof Switches
/** Of a quantity some values; of a choice some, or each way that the sandbox knows. */
type Choices = {
  readonly [Name in SwitchName]: readonly Switches[Name][] | (Switches[Name] extends number ? never : 'all')
}

/**
 * The world of a run: what the provider's documents leave open and what it may do amiss all along, by the
 * sandbox's own names, each with the values that the seed picks from. One value is always that: because it says how much
 * there is and not of what kind. A switch without a line here does not compile.
 */
const choices: Choices = {
  // Classrooms
  appFeed: 'all',
  // Worlds in which each answer holds one event cost many times as much to play.
  feedShape: ['array', 'list', 'array', 'list', 'array', 'list', 'object', 'object-with-next-id'],
  listShape: ['list', 'records', 'beside', 'list', 'records', 'beside', 'item'],
  batchItems: [1_000],
  logEnd: 'all',
  // Where each page holds one item it costs twice as much.
  emptyPages: ['none', 'none', 'none', 'between'],
  regions: 'all',
  // Longer than the feed is left alone for: what a shorter one told last when the world stands still, nobody ever hears.
  feedWindowSeconds: [120],
  feedMemorySeconds: [3600],
  tail: ['valid', 'valid', 'refused'],
  nextIdType: 'all',
  sequence: 'all',
  sequenceScope: ['room'],
  missingLogs: 'all',
  mutedRooms: 'all',
  roomReuse: 'all',
  roomMemorySeconds: [3600],
  widgetPath: 'all',
  widgetKeys: 'all',
  widgetItemSequence: 'all',
  submitter: 'all',
  classRestart: 'all',
  eventTimes: 'all',
  emptyRoomLists: 'all',
  personIds: 'all',
  streamUuids: 'all',
  roles: 'all',
  crowds: 'all',
  voteOptions: 'all',
  rewardTotal: 'all',
  recordingEndState: 'all',
  stateMoves: 'all',
  uploadAnswer: 'all',
  // Call analytics
  callSearch: 'all',
  hasMore: 'all',
  hasMoreAbove: [500],
  hasMoreRate: [0],
  hasMoreFloorSeconds: [60],
  callLatenessSeconds: [5],
  callEnd: ['present', 'absent'],
  // A slice of a long call is what shows somebody who stays.
  openStayEnd: ['now'],
  // What a slice says of somebody who stays matters where it is read after the next one.
  staysAsOf: ['answer'],
  callListPages: [100],
  // A call of the usual size fits on one page of 30.
  mostPerPage: [100, 30],
  totalSize: 'all',
  // That a page is one too many is said by a refusal, which a tour asks for.
  sessionPages: ['empty'],
  serverFilter: 'all',
  callSlices: ['served'],
  metricsEnd: 'all',
  emptyLists: 'all',
  // No daemon can be expected to read words.
  kvs: ['pairs', 'objects', 'triples'],
  ownPeer: 'all',
  unknownFields: 'all',
  metricSeconds: [2],
  limitStatus: 'all',
  limitsOutsideSearch: 'all',
  successCode: 'all',
  successMessage: 'all',
  counters: 'all',
  countersPer: 'all',
  day: 'all',
  limiter: 'all',
  restatement: ['on'],
  restatementHours: [48],
  missingValues: [0, 0.05],
  missingEntries: 'all',
  valueEntries: 'all',
  lateValueSeconds: [0, 600],
  tightHours: [0, 0.2],
  realtimeEnd: 'all',
  realtimeUid: 'all',
  usersOutsideChannels: 'all',
  realtimeUsers: 'all',
  // Cloud players
  playerLimits: 'all',
  playerList: 'all',
  playerTimes: 'all',
  playersPerPage: [500],
  listBlindSeconds: [0, 10],
  // What tells by it is a player that is in three lists within these seconds: tours alone ask for so many.
  listBlind: ['always'],
  playerQuota: [50],
  playerQuotaStatus: 'all',
  playerFailRate: [0.02],
  playerDestroysPerHour: [0, 0.5],
  noticeLossRate: [0, 0.1],
  noticeRepeatRate: [0, 0.1],
  noticeDisorderRate: [0, 0.2],
}

/** The switches of a seed's world. Each is drawn by chance of its own, so that a new one changes nothing in the others. */
export function drawSwitches(seed: Seed): Switches {
  const names = Object.keys(choices) as SwitchName[]
  const drawn = names.map(name => [name, pick<string | number>(seed, name, valuesOf(name))])
  return Object.fromEntries(drawn) as Switches
}

/** Strange content that a world may have, each in half of them; a share that is high beside life's, as a run is short. */
const quirks: Readonly<Partial<Quirks>> = {
  ...{ unknownCmd: 0.03, nul: 0.03, loneSurrogate: 0.03, malformedRecord: 0.03, malformedData: 0.03 },
  ...{ malformedWidgetItem: 0.1, sharedReward: 0.3, bigSequence: 0.4 },
  ...{ backwardCall: 0.1, unknownMid: 0.1, malformedValue: 0.02, unmeasuredValue: 0.01 },
  strangePair: 0.5,
  vanishingSid: 0.05,
  ...{ longCallHours: 1.7, crowd: 45 },
}

/** The strange content of a seed's world, each kind by chance of its own. */
export function drawQuirks(seed: Seed): Partial<Quirks> {
  return Object.fromEntries(Object.entries(quirks).filter(([name]) => isDrawn(seed, name)))
}

function valuesOf(name: SwitchName): readonly (string | number)[] {
  const chosen = choices[name]
  if (chosen !== 'all') return chosen
  const entry = switchTable[name]
  return 'values' in entry ? entry.values : []
}

/** Something of a seed's world that is there in half of them. */
export function isDrawn(seed: Seed, name: string): boolean {
  return share(seed, `${name}/is there`) < 0.5
}

export function pick<Value>(seed: Seed, name: string, values: readonly Value[]): Value {
  return values[Math.floor(share(seed, name) * values.length)]!
}

/** Of a seed's world, from 0 to 1. */
export function share(seed: Seed, name: string): number {
  return seededRandom(`${seed}/world/${name}`).next()
}
