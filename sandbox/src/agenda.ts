type Act = (now: number) => void

interface Entry {
  time: number
  readonly order: number
  readonly act: Act
}

/**
 * What is still to happen, earliest first; things due at the same moment happen in the order in which they
 * were written down. There is no timer: time passes when someone asks.
 */
export class Agenda {
  readonly #heap: Entry[] = []
  #written = 0

  /** Moments are whole milliseconds. */
  at(time: number, act: Act): void {
    this.#heap.push({ time: Math.floor(time), order: this.#written++, act })
    this.#rise(this.#heap.length - 1)
  }

  /** Lets everything happen that is due by `time`, the last moment included. */
  runUntil(time: number): void {
    while (this.#heap.length > 0 && this.#heap[0]!.time <= time) this.step()
  }

  /** Lets the next thing happen; false when there is none. */
  step(): boolean {
    const next = this.#take()
    next?.act(next.time)
    return next !== undefined
  }

  postpone(milliseconds: number): void {
    for (const entry of this.#heap) entry.time += milliseconds
  }

  #take(): Entry | undefined {
    const first = this.#heap[0]
    const last = this.#heap.pop()
    if (this.#heap.length > 0 && last) {
      this.#heap[0] = last
      this.#sink()
    }
    return first
  }

  #rise(start: number): void {
    const heap = this.#heap
    const entry = heap[start]!
    let index = start
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = entry
  }

  #sink(): void {
    const heap = this.#heap
    const entry = heap[0]!
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, entry)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = entry
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.time === b.time ? a.order < b.order : a.time < b.time
}
