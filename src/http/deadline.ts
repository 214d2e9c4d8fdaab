/** Why a request was given up before its answer was complete. */
export type GivenUp = 'deadline' | 'cancelled'

export interface Deadline {
  readonly signal: AbortSignal
  /** Undefined as long as the request may go on. */
  readonly givenUp: () => GivenUp | undefined
  /** Must be called when the request is over. */
  readonly clear: () => void
}

/**
 * One signal for the total deadline of a request (`ms` from now) and for the caller's own signal. Unlike
 * AbortSignal.any and AbortSignal.timeout it leaves nothing behind on a signal that outlives the request.
 */
export function startDeadline(ms: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  let givenUp: GivenUp | undefined
  const giveUp = (reason: GivenUp) => {
    givenUp ??= reason
    controller.abort()
  }
  const cancel = () => giveUp('cancelled')
  const timer = setTimeout(() => giveUp('deadline'), ms)
  if (outer?.aborted) cancel()
  outer?.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    givenUp: () => givenUp,
    clear() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', cancel)
    },
  }
}

/** Settles as `work` does, or rejects as soon as `signal` aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const abort = () => reject(new DOMException('given up', 'AbortError'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return promise
}
