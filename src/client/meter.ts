import type { Meter } from '../engine/ports.ts'

const nothing = () => {}

/** A client measures nothing: the ledger shows what it has spent. */
export const silentMeter: Meter = {
  request: nothing,
  page: nothing,
  rows: nothing,
  commit: nothing,
  deadLetters: nothing,
  divergences: nothing,
  ignored: nothing,
  limitViolation: nothing,
  debit: nothing,
  schedule: nothing,
  owned: nothing,
  owed: nothing,
  budget: nothing,
  quality: nothing,
  clockDoubt: nothing,
}
