import { BatchAnswer, readBatch } from '../provider/classroom/index.ts'
import type { Page } from './stream.ts'

/** Items and nextId of a classroom answer; one that was never checked against its shape throws. */
export function readAnswer(answer: unknown): Pick<Page, 'items' | 'nextId'> {
  return readBatch(BatchAnswer.parse(answer))
}
