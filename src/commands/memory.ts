import { getHeapStatistics } from 'node:v8'

/** Bytes of heap, and of buffers beside it, that a page takes for each byte of its body before it is stored. */
const COPIES = 18

/** Share of the heap that may be pages; the rest is the program, and what has not been collected yet. */
const SHARE = 0.5

/** Bytes of answers that may be under way and being worked on together, as the heap of this process allows. */
export function roomForAnswers(): number {
  return Math.floor((getHeapStatistics().heap_size_limit * SHARE) / COPIES)
}
