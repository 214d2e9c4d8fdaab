/**
 * Resolves at the first SIGTERM or SIGINT. A second one ends the process at once, for whoever cannot wait for the
 * drain.
 */
export function untilSignal(signal?: AbortSignal): Promise<'signal' | 'aborted'> {
  return new Promise(resolve => {
    let asked = false
    const onSignal = () => {
      if (asked) process.exit(1)
      asked = true
      resolve('signal')
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    signal?.addEventListener('abort', () => resolve('aborted'), { once: true })
  })
}
