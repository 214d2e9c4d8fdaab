import { seededRandom } from '../../src/clock/seeded.ts'
import { type Switches, switchTable } from '../../src/sandbox/index.ts'

type SwitchName = keyof Switches
type Choices = { readonly [Name in SwitchName]: readonly Switches[Name][] }

/** Every way that the sandbox knows. */
function any<Name extends SwitchName>(name: Name): readonly Switches[Name][] {
  const entry = switchTable[name]
  if (!('values' in entry)) throw new TypeError(`${name} is a quantity`)
  return entry.values as readonly string[] as readonly Switches[Name][]
}

/**
 * The world of every simulation: what the provider's documents leave open and what it may do amiss all along, by the
 * sandbox's own names, each with the values that the seed picks from. One value is always that: because the daemon must
 * be told of it by a setting, or because it says how much there is and not of what kind. A switch without a line here
 * does not compile.
 */
const choices: Choices = {
  // Classrooms
  appFeed: any('appFeed'),
  feedShape: any('feedShape'),
  listShape: any('listShape'),
  logEnd: any('logEnd'),
  feedWindowSeconds: [30],
  feedMemorySeconds: [3600],
  tail: any('tail'),
  nextIdType: any('nextIdType'),
  sequence: any('sequence'),
  sequenceScope: ['room'],
  missingLogs: any('missingLogs'),
  roomReuse: any('roomReuse'),
  roomMemorySeconds: [3600],
  widgetPath: ['without-region'],
  widgetKeys: any('widgetKeys'),
  widgetItemSequence: any('widgetItemSequence'),
  submitter: ['operator'],
  classRestart: any('classRestart'),
  eventTimes: any('eventTimes'),
  emptyResources: any('emptyResources'),
  personIds: any('personIds'),
  crowds: any('crowds'),
  voteOptions: any('voteOptions'),
  recordingEndState: any('recordingEndState'),
  stateMoves: any('stateMoves'),
  uploadAnswer: any('uploadAnswer'),
  // Call analytics
  callSearch: any('callSearch'),
  hasMore: any('hasMore'),
  hasMoreAbove: [500],
  hasMoreRate: [0],
  hasMoreFloorSeconds: [60],
  callLatenessSeconds: [5],
  callListPages: [100],
  // A call of the usual size fits on one page of 30.
  mostPerPage: [100, 30],
  serverFilter: any('serverFilter'),
  callSlices: ['served'],
  emptyLists: any('emptyLists'),
  // No daemon can be expected to read words.
  kvs: ['pairs', 'objects', 'triples'],
  ownPeer: any('ownPeer'),
  unknownFields: any('unknownFields'),
  metricSeconds: [2],
  limitStatus: any('limitStatus'),
  limitsOutsideSearch: any('limitsOutsideSearch'),
  successCode: any('successCode'),
  successMessage: any('successMessage'),
  counters: any('counters'),
  countersPer: any('countersPer'),
  day: any('day'),
  limiter: any('limiter'),
  restatement: ['on'],
  restatementHours: [48],
  missingValues: [0, 0.05],
  lateValueSeconds: [0, 600],
  tightHours: [0, 0.2],
  realtimeEnd: any('realtimeEnd'),
  realtimeUid: any('realtimeUid'),
  usersOutsideChannels: any('usersOutsideChannels'),
  realtimeUsers: any('realtimeUsers'),
  // Cloud players
  playerLimits: any('playerLimits'),
  playerList: any('playerList'),
  listBlindSeconds: [0, 10],
  playerQuota: [50],
  playerQuotaStatus: any('playerQuotaStatus'),
  playerFailRate: [0.02],
  playerDestroysPerHour: [0, 0.5],
  noticeLossRate: [0, 0.1],
  noticeRepeatRate: [0, 0.1],
  noticeDisorderRate: [0, 0.2],
}

/** The switches of a seed's world. Each is drawn by chance of its own, so that a new one changes nothing in the others. */
export function drawSwitches(seed: number): Switches {
  const names = Object.keys(choices) as SwitchName[]
  return Object.fromEntries(
    names.map(name => [name, pick<unknown>(seed, name, choices[name])]),
  ) as unknown as Switches
}

/** Something of a seed's world that is there in half of them. */
export function isDrawn(seed: number, name: string): boolean {
  return share(seed, `${name}/is there`) < 0.5
}

export function pick<Value>(seed: number, name: string, values: readonly Value[]): Value {
  return values[Math.floor(share(seed, name) * values.length)]!
}

/** Of a seed's world, from 0 to 1. */
export function share(seed: number, name: string): number {
  return seededRandom(`${seed}/world/${name}`).next()
}
