import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { systemClock } from '../clock/system.ts'
import { type Listen, loadListen, shownListen } from '../config/listen.ts'
import { CommandError, exitUsage } from './cli/exit.ts'

interface HealthcheckOptions {
  readonly config: string
  /** Asks whether work is done, not only whether the process lives. */
  readonly ready?: boolean
  /** Base address of a daemon elsewhere; the configuration is not read then. */
  readonly url?: string
  /** ms for which it asks again while all is not well; it asks once where this is not given. */
  readonly within?: number
}

/** The daemon itself answers within two seconds, whatever its database does. */
const timeout = 4_000
const pause = 500

/**
 * Asks the daemon of this configuration how it is, for whoever watches a container. Throws a CommandError that says
 * why when the answer is not 200 or does not come within four seconds, and all the time that `within` gives is over.
 * Shares the memory of the daemon's container, so it loads little: no schema, and no client but Node's own.
 */
export async function healthcheck({
  config: path,
  ready,
  url,
  within = 0,
}: HealthcheckOptions): Promise<void> {
  const base = url === undefined ? await listeningAddress(path) : baseOf(url)
  const address = `${base}${ready ? '/readyz' : '/healthz'}`
  const giveUp = systemClock.monotonic() + within
  for (;;) {
    try {
      process.stdout.write(`${await ask(address)}\n`)
      return
    } catch (error) {
      if (systemClock.monotonic() + pause > giveUp) throw error
      await systemClock.sleep(pause)
    }
  }
}

function baseOf(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new CommandError(
    `--url ${url} is no address: write one such as http://penstock:9464, without a path`,
    exitUsage,
  )
}

/** Where a daemon of this configuration is reached from beside it. */
async function listeningAddress(path: string): Promise<string> {
  const listen = await loadListen(path, { env: process.env })
  if (listen.port === 0) {
    throw new CommandError('http.listen has port 0, so nobody knows where the daemon answers: give it a port')
  }
  return addressOf(listen)
}

/** Where what listens there is reached from the same machine. */
export function addressOf(listen: Listen): string {
  return `http://${shownListen({ ...listen, host: anyAddress[listen.host] ?? listen.host })}`
}

/** What listens on all addresses is asked on the loopback one. */
const anyAddress: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The body of an answer of 200. Throws CommandError for any other, and where none comes in time. */
export async function ask(address: string): Promise<string> {
  const answered = new AbortController()
  const tooLong = new AbortController()
  void systemClock.sleep(timeout, answered.signal).then(() => tooLong.abort())
  try {
    const response = await get(address, tooLong.signal)
    const body = (await text(response)).trim()
    if (response.statusCode === 200) return body
    throw new CommandError(`${address} answers ${response.statusCode}: ${body}`)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError(`${address} does not answer (${reasonOf(cause, tooLong.signal)})`, 1, { cause })
  } finally {
    answered.abort()
  }
}

async function get(address: string, signal: AbortSignal): Promise<IncomingMessage> {
  const client = address.startsWith('https:') ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    client.get(address, { agent: false, signal }, resolve).on('error', reject)
  })
}

function reasonOf(error: unknown, tooLong: AbortSignal): string {
  if (tooLong.aborted) return `nothing within ${timeout / 1_000} s`
  return error instanceof Error && 'code' in error ? String(error.code) : 'no HTTP'
}
