import { type Client, checked } from '../client/client.ts'
import { named } from '../client/create-player.ts'
import type { ClientApp, Note } from '../client/ports.ts'
import type { CallOptions } from '../client/types.ts'
import { systemClock, systemRandom } from '../clock/system.ts'
import { loadConfig } from '../config/load.ts'
import type { Operation, Parameters } from '../provider/operation.ts'
import { createPlayer, deletePlayer, secretPlayerFields } from '../provider/players/index.ts'
import { redacted } from '../provider/redaction.ts'
import { type ApiWords, readValues, readWords } from './api/arguments.ts'
import { findOperation, listLines, operationLines } from './api/operations.ts'
import { type Format, failWith, printValue } from './api/print.ts'
import { CommandError, exitUsage } from './cli/exit.ts'
import { appOf } from './cli/options.ts'
import { printLines } from './cli/output.ts'

/** Performs one operation of the provider by hand, or tells what there is. Throws where it does not end well. */
export async function api(words: readonly string[], usage: string): Promise<void> {
  const format = words.includes('--json') ? 'json' : 'text'
  try {
    const read = readWords(words)
    if (read.operation === undefined) return tellAll(read, usage)
    const operation = findOperation(read.operation)
    if (read.wants.has('help')) return printLines(operationLines(operation))
    await perform(operation, read, format)
  } catch (error) {
    failWith(error, format)
  }
}

function tellAll({ wants, values }: ApiWords, usage: string): void {
  const [stray] = values.keys()
  if (stray !== undefined)
    throw new CommandError(`--${stray} belongs to no operation: name one first`, exitUsage)
  printLines(wants.has('help') ? [...listLines(), usage] : listLines())
}

async function perform(operation: Operation, words: ApiWords, format: Format): Promise<void> {
  const given = await readValues(operation, words.values, process.env)
  const config = await loadConfig(words.config, { env: process.env })
  const app = appOf(config, words.app).id
  // The help never needs it.
  const { clientApps, openConfigured } = await import('./wiring/client.ts')
  if (words.wants.has('dry-run')) {
    const found = clientApps(config).find(({ id }) => id === app)!
    return printValue(requestAsSent(found, operation, given, words), format)
  }
  const client = await openConfigured(config, note => tellNote(note, format))
  try {
    const { timeout, requestId } = words
    const answer = await call(client, app, operation, given, {
      ...(timeout !== undefined && { timeout }),
      ...(requestId !== undefined && { requestId }),
    })
    printValue(operation === deletePlayer ? { deleted: given.id } : answer, format)
  } finally {
    await client.close()
  }
}

function call(client: Client, app: string, operation: Operation, given: Parameters, options: CallOptions) {
  // What is given has the shape that the contract says; the client checks it.
  const family = client.app(app)[operation.family] as unknown as Readonly<Record<string, UntypedCall>>
  return family[operation.name]!(given, options)
}

type UntypedCall = (given: Parameters, options: CallOptions) => Promise<unknown>

/** The request as it would be sent, its secrets replaced. */
function requestAsSent(app: ClientApp, operation: Operation, given: Parameters, { requestId }: ApiWords) {
  const asked = operation === createPlayer ? named(given, { random: systemRandom }) : given
  const transport = {
    send: () => Promise.reject(new Error('nothing is sent')),
    clockOffset: () => undefined,
  }
  const { request } = checked({ clock: systemClock, transport }, app, operation, asked, requestId)
  const { method, target, body } = request
  const shown = Object.entries((body ?? {}) as Parameters).map(([name, value]) => [
    name,
    operation === createPlayer && secretPlayerFields.has(name) ? redacted : value,
  ])
  return {
    ...{ method, target },
    ...(requestId !== undefined && { requestId }),
    ...(body !== undefined && { body: Object.fromEntries(shown) }),
  }
}

function tellNote({ operation, text }: Note, format: Format): void {
  const line = format === 'json' ? JSON.stringify({ note: { operation, text } }) : `penstock: ${text}`
  process.stderr.write(`${line}\n`)
}
