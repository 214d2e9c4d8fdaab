import type { Purpose } from '../../planning/shares.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import { isOfTheQuestion, questionPause } from '../admission/retry-rules.ts'
import { SOON_MS } from '../faults.ts'
import { reportFailure } from '../refusals.ts'
import type { WindowSettings } from '../settings.ts'
import type { GroupContext } from './group-scheduler.ts'
import type { RangeRules } from './range-rules.ts'
import type { WindowResult } from './window-reading.ts'
import {
  noteMalformed,
  noteOverfull,
  noteTooLong,
  noteWhole,
  type SeriesState,
  trustOthers,
} from './window-series.ts'
import type { WindowReading } from './window-task.ts'

export interface OutcomeContext {
  readonly context: GroupContext
  readonly settings: WindowSettings
  readonly rules: RangeRules
  /** The series of the stream. */
  readonly followed: () => Iterable<SeriesState>
}

/** A reading that has ended, and what it was for. */
export interface Ended {
  readonly reading: WindowReading
  readonly state: SeriesState
  readonly purpose: Purpose
  /** When it began, on the monotonic clock, ms. */
  readonly began: number
  readonly result: WindowResult
}

/** After so many answers in a row that cannot be used, though the question was allowed, it is asked in parts. */
const FAILURES_THAT_PART = 2

/** What the end of a reading means for the windows to come. Throws StoreUnavailable. */
export async function settleWindow(outcome: OutcomeContext, ended: Ended): Promise<void> {
  const { context, settings } = outcome
  const { reading, state, purpose, began, result } = ended
  const { range, series, stream } = reading
  const labels = { app: context.app.id, stream: stream.name }
  if (result.hints.length > 0) context.onRooms(result.hints)
  if (result.madeWork) context.onWork()
  switch (result.end) {
    case 'whole':
    case 'overflow':
      if (result.end === 'overflow') {
        context.log.error('one second holds more than the provider lists; it is in the gap ledger', labels)
      }
      context.health.worked()
      noteAnswered(outcome, state)
      noteWhole(state, range)
      if (purpose === 'live') state.liveAt = began + settings.every
      if (purpose === 'revisit') state.revisitedTo = range.to
      if (purpose === 'repair') state.repairedTo = range.to
      return
    case 'narrow':
      context.health.worked()
      noteAnswered(outcome, state)
      noteOverfull(state, range, series.step)
      if (purpose === 'live') state.liveAt = began + settings.every
      return
    case 'endless':
      noteTooLong(state, range, series.step)
      return
    case 'failed':
      return afterFailure(outcome, ended, result.failure!)
    case 'fenced':
      context.onFenced()
      state.notBefore = context.clock.monotonic() + context.settings.renewEvery
      return
    case 'busy':
    case 'late':
      state.notBefore = context.clock.monotonic() + SOON_MS
      return
    case 'stopped':
      return
  }
}

function noteAnswered({ context, followed }: OutcomeContext, state: SeriesState): void {
  const wasFailing = state.isFailing
  state.failures = 0
  state.isFailing = false
  state.wasTrusted = false
  if (wasFailing) trustOthers(followed(), context.clock.monotonic())
}

async function afterFailure({ context }: OutcomeContext, ended: Ended, failure: Failure): Promise<void> {
  const { reading, state } = ended
  const { stream, series } = reading
  const isOfQuestion = isOfTheQuestion(failure.kind)
  // Refusals of a range and failures of the group are passed within minutes: they make no first failure of the question late.
  state.failures = isOfQuestion && !state.isFailing ? 1 : state.failures + 1
  state.isFailing = isOfQuestion
  const patience = { available: reading.rules.availableData, chance: context.random.next() }
  state.notBefore = context.clock.monotonic() + questionPause(failure, state.failures, patience)
  await reportFailure({ ...context, stream, series: series.key }, failure)
  if (state.failures < FAILURES_THAT_PART) return
  if (isUnreadable(failure.kind, ended)) await giveUp(context, reading)
}

/** Asks for less where that may be read; whether it is one step that cannot be. */
function isUnreadable(kind: FailureKind, { reading: { range, series }, state }: Ended): boolean {
  if (kind === 'malformed') return noteMalformed(state, range, series.step) === 'spoilt'
  if (kind !== 'too_large') return false
  if (range.to - range.from <= series.step) return true
  noteOverfull(state, range, series.step)
  return false
}

/** One step that can never be read must not keep the others from being read. */
async function giveUp(
  { app, store, fence, log }: GroupContext,
  { stream, series, range }: WindowReading,
): Promise<void> {
  const known = (await store.windows(app.id, stream.name)).find(each => each.series === series.key)
  if (!known) return
  await store.commitWindow({
    ...{ app: app.id, stream: stream.name, series: series.key, fence: fence(), version: known.version },
    ...{ covers: [], sees: [range], misses: [], loses: [{ ...range, reason: 'refused' }] },
    ...{ rows: {}, rejects: [], work: [] },
  })
  log.error('a range cannot be read in any size; it is in the gap ledger', {
    app: app.id,
    stream: stream.name,
  })
}
