import { systemClock } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import { shownListen } from '../../config/listen.ts'
import type { Log } from '../../engine/ports.ts'
import type { ListenerOptions, RunningServer } from '../../telemetry/listener.ts'
import { CommandError, exitFailed } from '../cli/exit.ts'

/** Sections of the configuration that say where something is served. */
type Section = 'http' | 'notifications'

/** What a daemon serves: its own endpoints, and notifications where an app has a secret for them. */
export class Endpoints {
  readonly #config: Config
  readonly #log: Log
  readonly #refused: (section: Section) => void
  readonly #servers: RunningServer[] = []

  /** `refused` counts a connection that was closed because there were too many. */
  constructor(config: Config, log: Log, refused: (section: Section) => void) {
    this.#config = config
    this.#log = log
    this.#refused = refused
  }

  /** Answers the address. Throws CommandError where it cannot be used. */
  async serve(
    section: Section,
    start: (options: ListenerOptions) => Promise<RunningServer>,
  ): Promise<string> {
    const { listen } = this.#config[section]
    const refused = () => this.#refused(section)
    try {
      const server = await start({ listen, refused, clock: systemClock, log: this.#log })
      this.#servers.push(server)
      return server.url
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
      if (code !== 'EADDRINUSE' && code !== 'EADDRNOTAVAIL' && code !== 'EACCES') throw cause
      const what = section === 'http' ? 'the endpoints' : 'notifications'
      throw new CommandError(
        `${what} cannot be served at ${shownListen(listen)} (${code}): choose another ${section}.listen`,
        exitFailed,
        { cause },
      )
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.close()))
  }
}
