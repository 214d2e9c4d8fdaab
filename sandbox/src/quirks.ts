import { cmds } from '../../src/provider/classroom/index.ts'
import type { Draw } from './draw.ts'

/**
 * Strange content that a provider may serve: where nothing else is said, shares (0 to 1) of the chat messages.
 * They belong to the world, not to the wire: the truth holds them as they are served.
 */
export interface Quirks {
  /** An event type that no document names. */
  readonly unknownCmd: number
  /** A NUL character in a message. */
  readonly nul: number
  /** Half of a surrogate pair in a message. */
  readonly loneSurrogate: number
  /** A record whose cmd is no integer. */
  readonly malformedRecord: number
  /** A record in order whose message is no string. */
  readonly malformedData: number
  /** Of the events of any kind: those that another version of the service tells. */
  readonly otherVersion: number
  /** A message that whoever plays with the sandbox may have his own store refuse. */
  readonly unstorable: number
  /** A message that the log of the room tells in other words some minutes later. Not one of the first of a room. */
  readonly retoldMessage: number
  /** A message that the log of the room tells most of a minute, or some minutes, after others have followed it. Not one of the first of a room. */
  readonly lateMessage: number
  /** Rooms of which the feed tells the first events alone. */
  readonly hushedRoom: number
  /** Of the submissions to quizzes and polls: one whose changeProperties is no object. */
  readonly malformedWidgetItem: number
  /** Of the rooms: those in which one of the students is an assistant instead. */
  readonly assistants: number
  /** Of the rooms: those in which two students sit at one machine. */
  readonly sharedMachine: number
  /** Of the rewards: those that two get at one time. */
  readonly sharedReward: number
  /** Of the hands that go up and of those who come on stage: those for whom another one leaves, in the same event. */
  readonly tradedPlace: number
  /** Of those who enter: those in whose moment another one leaves, in the same event. */
  readonly crossing: number
  /** Of the recordings that a class begins: those that are stopped within a minute, and begun anew. */
  readonly brokenRecording: number
  /** Of the students: those who come as an assistant at first, and as a student again where they come back. */
  readonly helpsAtFirst: number
  /** Of the quizzes: those that may be answered by whoever comes while they run, too. */
  readonly openQuiz: number
  /** Of the polls: those whose votes no summary counts, and in which every other student votes again. */
  readonly uncountedPoll: number
  /** Of the answers to quizzes: those that are thought over and given once more, where that is oftener than in life. */
  readonly secondThought: number
  /** Of the classes that end: those in whose last moment a quiz begins, which the teacher ends long after. */
  readonly lateQuiz: number
  /** Of the recordings: those whose files appear only when more than two thirds of the time are over for which a room is known. */
  readonly lateFiles: number
  /** Of the recordings: those whose first file appears while they go on, and the others as they end. */
  readonly earlyFiles: number
  /** Of the times at which a teacher takes a file away: those at which all of them go at once, and one comes back under its ID. */
  readonly clearedFiles: number
  /** Of the documents: those that are converted slowly, and of whose pages no event tells, but the list alone. */
  readonly quietConversion: number
  /** Rooms whose sequences begin above 2^53. */
  readonly bigSequence: number
  /** Calls that the search lists without their ID until ten minutes after they began. */
  readonly namelessCall: number
  /** Calls that are said to end before they start. */
  readonly backwardCall: number
  /** Sessions that have a metric which no document names. */
  readonly unknownMid: number
  /** Of the stays of those who speak: those of whom nothing tells it in their first 22 minutes. */
  readonly lateSpeaker: number
  /** Sessions of which an answer tells each metric in two entries, the later values in the second. */
  readonly partedMetric: number
  /** Of the values of metrics: those that are words. */
  readonly malformedValue: number
  /** Of the values of metrics that are words: those in whose place there is null or a text, and no pair. */
  readonly strangePair: number
  /** Of the values of metrics that are no words: those that are null, as nothing was measured then. */
  readonly unmeasuredValue: number
  /** Sessions that are listed and have no entry among the metrics. */
  readonly vanishingSid: number
  /** Of the calls: those with a second that makes each answer about their sessions a large one that tells of it. */
  readonly heavySessions: number
  /** Of the calls: those of whose first session a second makes each answer about its metrics a large one that tells of it. */
  readonly heavyMetrics: number
  /** Of the calls: those of whose sessions the first page alone is served. */
  readonly cutSessions: number
  /** Of the notifications of players: those that are signed, and in no shape that a receiver can read. */
  readonly strangeNotice: number
  /** Of the entries of insights and real time, but for those of users: those that an answer tells in no shape that anybody can read. */
  readonly strangeEntry: number
  /** Not a share: calls that all start in the same second, two hours before the sandbox is made. */
  readonly burstOfCalls: number
  /** Not a share: hours of one call that starts two hours before the sandbox is made. */
  readonly longCallHours: number
  /** Not a share: sessions of one call that starts ninety minutes before the sandbox is made. */
  readonly crowd: number
}

export const noQuirks: Quirks = {
  unknownCmd: 0,
  nul: 0,
  loneSurrogate: 0,
  malformedRecord: 0,
  malformedData: 0,
  otherVersion: 0,
  unstorable: 0,
  retoldMessage: 0,
  lateMessage: 0,
  hushedRoom: 0,
  malformedWidgetItem: 0,
  assistants: 0,
  sharedMachine: 0,
  sharedReward: 0,
  tradedPlace: 0,
  crossing: 0,
  brokenRecording: 0,
  helpsAtFirst: 0,
  openQuiz: 0,
  uncountedPoll: 0,
  secondThought: 0,
  lateQuiz: 0,
  lateFiles: 0,
  earlyFiles: 0,
  clearedFiles: 0,
  quietConversion: 0,
  bigSequence: 0,
  namelessCall: 0,
  backwardCall: 0,
  unknownMid: 0,
  lateSpeaker: 0,
  partedMetric: 0,
  malformedValue: 0,
  strangePair: 0,
  unmeasuredValue: 0,
  vanishingSid: 0,
  heavySessions: 0,
  heavyMetrics: 0,
  cutSessions: 0,
  strangeNotice: 0,
  strangeEntry: 0,
  burstOfCalls: 0,
  longCallHours: 0,
  crowd: 0,
}

/** What may befall a chat message. */
export type Oddity =
  | 'unknownCmd'
  | 'nul'
  | 'loneSurrogate'
  | 'malformedRecord'
  | 'malformedData'
  | 'unstorable'

/** What such a message says. */
export const unstorable = 'no store takes this'

export interface Content {
  readonly cmd: number
  readonly data: object
  /** Fields of the served record that replace the right ones. */
  readonly spoilt?: object
  readonly oddity?: Oddity
}

const unknownCmd = 7001

/** Perhaps makes something strange of a chat message. */
export function spoil(content: Content, quirks: Quirks, draw: Draw): Content {
  const oddity = kinds.find(kind => quirks[kind] > 0 && draw.chance(quirks[kind]))
  return oddity ? { ...spoilers[oddity](content), oddity } : content
}

const spoilers: Readonly<Record<Oddity, (content: Content) => Content>> = {
  unknownCmd: () => ({ cmd: unknownCmd, data: { novelty: { since: 'next version' } } }),
  nul: content => withMessage(content, 'before\u0000after'),
  loneSurrogate: content => withMessage(content, 'half of a pair: \ud83d'),
  malformedRecord: content => ({ ...content, spoilt: { cmd: 'chat' } }),
  malformedData: content => withMessage(content, 42),
  unstorable: content => withMessage(content, unstorable),
}

const kinds = Object.keys(spoilers) as Oddity[]

function withMessage(content: Content, message: unknown): Content {
  return { ...content, data: { ...content.data, message } }
}

/** By these a room is known again. */
const firstEvents = 12
const retoldAfter = 3 * 60_000
/** What comes after a few readings of a log, and what comes after many. */
const heldFor = [45_000, 4 * 60_000] as const

/** What the room's log tells in the place of the data of an event, from a moment on, Unix milliseconds. */
export interface Retold {
  readonly data: object
  readonly from: number
}

/** What the log tells of a message in the end, and from when on, where it tells it otherwise. */
export function retell(content: Content, told: number, { at, quirks, draw }: Retelling): Retold | undefined {
  if (quirks.retoldMessage === 0 || !isPlain(content, told) || !draw.chance(quirks.retoldMessage))
    return undefined
  return { data: withMessage(content, 'taken back').data, from: at + retoldAfter }
}

/** From when on the log tells a message that it holds back at first. */
export function hold(content: Content, told: number, { at, quirks, draw }: Retelling): number | undefined {
  if (quirks.lateMessage === 0 || !isPlain(content, told) || !draw.chance(quirks.lateMessage))
    return undefined
  return at + heldFor[draw.chance(0.5) ? 0 : 1]
}

/** After how many events the feed tells no more of a room. */
export function hush(quirks: Quirks, draw: Draw): number {
  return quirks.hushedRoom > 0 && draw.chance(quirks.hushedRoom) ? firstEvents : Number.POSITIVE_INFINITY
}

function isPlain({ cmd, oddity }: Content, told: number): boolean {
  return cmd === cmds.chat && oddity === undefined && told >= firstEvents
}

interface Retelling {
  readonly at: number
  readonly quirks: Quirks
  readonly draw: Draw
}

/** Whether a client cannot read or store the record, and must set it aside. */
export function isMalformed(oddity: Oddity | undefined): boolean {
  return oddity === 'malformedRecord' || oddity === 'malformedData' || oddity === 'unstorable'
}
