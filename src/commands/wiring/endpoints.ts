import { systemClock } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import { shownListen } from '../../config/listen.ts'
import type { Log } from '../../engine/ports.ts'
import type { ListenerOptions, RunningServer } from '../../telemetry/listener.ts'
import { CommandError, exitFailed } from '../cli/exit.ts'

/** Sections of the configuration that say where something is served. */
type Section = 'http' | 'notifications'

/**
 * What a daemon serves: its own endpoints, and notifications where an app has a secret for them. `refused` counts a
 * connection that was closed because there were too many.
 */
export function openEndpoints(config: Config, log: Log, refused: (section: Section) => void) {
  const servers: RunningServer[] = []
  let isClosed = false

  /** Answers the address. Throws CommandError where it cannot be used, or all were closed. */
  async function serve(
    section: Section,
    start: (options: ListenerOptions) => Promise<RunningServer>,
  ): Promise<string> {
    const { listen } = config[section]
    let server: RunningServer
    try {
      server = await start({ listen, refused: () => refused(section), clock: systemClock, log })
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
    if (isClosed) {
      // It would keep the process from ending.
      await server.close()
      throw new CommandError('nothing is served any more: the daemon is stopping')
    }
    servers.push(server)
    return server.url
  }

  async function close(): Promise<void> {
    isClosed = true
    await Promise.all(servers.map(server => server.close()))
  }

  return { serve, close }
}
