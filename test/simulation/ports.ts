import { type Ledger, type Ownership, type Store, StoreUnavailable } from '../../src/engine/ports.ts'
import type { Kernel, Process } from './kernel.ts'

export interface DatabasePorts {
  readonly store: Store
  readonly ledger: Ledger
  readonly ownership: Ownership & { readonly close: () => Promise<void> }
}

export interface Line {
  readonly kernel: Kernel
  readonly process: Process
  /** Tells the database what time it is. */
  readonly setTime: () => Promise<void>
}

/** Puts every call to the database through the kernel, where it waits its turn and may meet a fault. */
export function throughKernel(
  { store, ledger, ownership }: DatabasePorts,
  line: Line,
): Omit<DatabasePorts, 'ownership'> & { readonly ownership: Ownership } {
  const lostConnection = async () => new StoreUnavailable(undefined)
  const { close, claim, release } = ownership
  /** A broken line takes the session with it, and the session its locks. */
  const lostSession = async () => {
    await close()
    return lostConnection()
  }
  return {
    store: wrap(store, line, lostConnection),
    ledger: wrap(ledger, line, lostConnection),
    ownership: wrap({ claim, release }, line, lostSession),
  }
}

type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

function wrap<Port extends object>(port: Port, line: Line, broken: () => Promise<Error>): Port {
  const methods = Object.entries(port as Methods).map(([name, method]) => [
    name,
    (...args: never[]) =>
      line.kernel.perform(line.process, {
        kind: 'database',
        name: [name, ...args.map(subject)].filter(Boolean).join(' '),
        work: async () => {
          await line.setTime()
          return method(...args)
        },
        broken,
      }),
  ])
  return Object.fromEntries(methods)
}

/** What a call is about, as far as it can be said in a word. */
function subject(argument: unknown): string {
  if (typeof argument === 'string') return argument
  if (typeof argument !== 'object' || argument === null) return ''
  const { app, stream, series, version } = argument as Readonly<Record<string, unknown>>
  return [app, stream, series, version].filter(word => word !== undefined).join(' ')
}
