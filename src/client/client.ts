import type { z } from 'zod'
import type { Batch } from '../provider/classroom/index.ts'
import { type Operations, operations } from '../provider/index.ts'
import { called, type Operation, ParameterError, type Parameters } from '../provider/operation.ts'
import { createPlayer, deletePlayer, playTsProblem } from '../provider/players/index.ts'
import { rangeProblem, requestOf } from './arguments.ts'
import * as creating from './create-player.ts'
import { Dispatcher, type DispatcherPorts } from './dispatcher.ts'
import { CallError, closed } from './errors.ts'
import * as deleting from './players.ts'
import type { ClientApp, IntentStore, Note, PlayerPorts } from './ports.ts'
import type { Answer, AppClient, CallOptions, Named } from './types.ts'

/** The operations of the provider for all apps of a configuration. */
export interface Client {
  /** Throws where the configuration has no such app. */
  readonly app: (id: string) => AppClient
  /** Ends every wait and, once what is under way has been read, every connection. */
  readonly close: () => Promise<void>
}

export interface ClientPorts extends DispatcherPorts {
  readonly intents: IntentStore
  readonly apps: readonly ClientApp[]
  readonly tell: (note: Note) => void
  /** Closes what the ports hold open. */
  readonly release: () => Promise<void>
}

/** How long a request waits for its turn unless told, ms. */
const defaultTimeout = 60_000

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function createClient(ports: ClientPorts): Client {
  const apps = new Map(ports.apps.map(app => [app.id, app]))
  const dispatcher = new Dispatcher(ports)
  return {
    app: id => {
      const app = apps.get(id)
      if (!app) throw new RangeError(`the configuration has no app ${id}; it has ${someOf(apps.keys())}`)
      return new Calls(ports, dispatcher, app).byFamily()
    },
    close: async () => {
      dispatcher.close()
      await ports.release()
    },
  }
}

/** The first of these IDs. */
function someOf(ids: Iterable<string>): string {
  const all = [...ids]
  return `${all.slice(0, 5).join(', ')}${all.length > 5 ? ', ...' : ''}`
}

/** The operations of one app. */
class Calls {
  readonly #ports: ClientPorts
  readonly #dispatcher: Dispatcher
  readonly #app: ClientApp

  constructor(ports: ClientPorts, dispatcher: Dispatcher, app: ClientApp) {
    this.#ports = ports
    this.#dispatcher = dispatcher
    this.#app = app
  }

  byFamily(): AppClient {
    const calls = Object.entries(operations).map(([family, all]) => {
      const each = Object.entries(all).map(([name, operation]) => [
        name,
        (given: Parameters = {}, options: CallOptions = {}) => this.#perform(operation, given, options),
      ])
      return [family, Object.fromEntries(each)]
    })
    return { id: this.#app.id, ...Object.fromEntries(calls) } as AppClient
  }

  /** Players are made and destroyed with an eye on what becomes of them; all else is one request. */
  async #perform(operation: Operation, given: Parameters, options: CallOptions): Promise<unknown> {
    const { closing } = this.#dispatcher
    if (closing.aborted) throw closed(operation)
    const { requestId, ...unnamed } = options
    const ports: PlayerPorts = {
      ...this.#ports,
      closing,
      // What is asked beside it, such as a list after an answer that was lost, is no attempt at the same.
      ask: (each, asked) => this.#ask(each, asked, each === operation ? options : unnamed),
      providerNow: () => nowOf(this.#ports, operation),
    }
    switch (operation) {
      case createPlayer: {
        const asked = creating.named(given, ports)
        checked(this.#ports, this.#app, operation, asked, requestId)
        return creating.createPlayer(ports, this.#app, asked)
      }
      case deletePlayer:
        checked(this.#ports, this.#app, operation, given, requestId)
        return deleting.deletePlayer(ports, this.#app.id, given)
      default:
        return ports.ask(operation, given)
    }
  }

  async #ask(operation: Operation, given: Parameters, options: CallOptions): Promise<unknown> {
    const { timeout = defaultTimeout, requestId } = options
    const { request, limit } = checked(this.#ports, this.#app, operation, given, requestId)
    const { body } = await this.#dispatcher.send({ app: this.#app.id, request, limit, timeout })
    return body
  }
}

/** The request as the deployment wants it. Throws ParameterError, or CallError where the app cannot ask for it. */
export function checked(
  ports: Pick<ClientPorts, 'clock' | 'transport'>,
  app: ClientApp,
  operation: Operation,
  given: Parameters,
  requestId?: string,
) {
  if (requestId !== undefined && !uuid.test(requestId))
    throw new ParameterError(`${called(operation)}: requestId: must be a UUID`)
  // By the names of the contract first, which are the ones that the caller knows.
  requestOf(operation, given, app)
  const { name, filter, region, playTs } = given
  const deployed = app.deploy(operation, {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof filter === 'string' ? { filter } : {}),
    ...(typeof region === 'string' ? { region } : {}),
  })
  if ('off' in deployed)
    throw new CallError(operation, { kind: 'off', text: `nothing was sent: ${deployed.off}` })
  const now = Math.floor(nowOf(ports, operation) / 1_000)
  const { limit, nameOf } = deployed
  const late = operation === createPlayer ? playTsProblem(playTs as number | undefined, now) : undefined
  const problem = late ? `playTs: ${late}` : limit.range && rangeProblem(given, limit.range, now)
  if (problem) throw new ParameterError(`${called(operation)}: ${problem}`)
  const renamed = Object.fromEntries(Object.entries(given).map(([each, value]) => [nameOf(each), value]))
  const request = requestOf(deployed.operation, renamed, app)
  return { request: requestId === undefined ? request : { ...request, requestId }, limit }
}

/** The provider's clock as far as its answers have told it, ms since the epoch. */
function nowOf(
  { clock, transport }: Pick<ClientPorts, 'clock' | 'transport'>,
  { family }: Operation,
): number {
  return clock.now() + (transport.clockOffset(family)?.ahead ?? 0)
}

type Classroom = Operations['classroom']
/** What the operations that serve items serve. */
type Items = {
  [N in keyof Classroom as Classroom[N] extends { readonly item: z.ZodType }
    ? N
    : never]: Classroom[N] extends {
    readonly item: z.ZodType<infer Item>
  }
    ? Item
    : never
}

/**
 * The items of a classroom's answer. The contract leaves open how `data` holds them; this reads a list, a list in an
 * object, and an item by itself.
 */
export function readBatch<N extends keyof Items>(
  operation: N,
  answer: Answer<Classroom[N]>,
): Batch<Named<Items[N]>> {
  return operations.classroom[operation].readBatch(answer) as Batch<Named<Items[N]>>
}
