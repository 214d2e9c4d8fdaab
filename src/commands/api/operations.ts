import { isOfProject } from '../../client/arguments.ts'
import { describeOperation, type FieldFacts } from '../../client/describe.ts'
import { isUncertain } from '../../client/errors.ts'
import { nearest } from '../../config/suggest.ts'
import { type AnalyticsGroup, analyticsLimits } from '../../provider/analytics/index.ts'
import { appEvents } from '../../provider/classroom/index.ts'
import { kindOfStatus } from '../../provider/errors.ts'
import { allOperations, operations } from '../../provider/index.ts'
import type { Rate } from '../../provider/limits.ts'
import { called, type Operation } from '../../provider/operation.ts'
import {
  createPlayer,
  deletePlayer,
  listPlayers,
  type PlayerGroup,
  playerRates,
} from '../../provider/players/index.ts'
import { CommandError, exitUsage } from '../cli/exit.ts'
import { textTable, windowText } from '../cli/output.ts'
import { exitCodeOfKind } from './print.ts'

/** The operations by family, one line each. */
export function listLines(): readonly string[] {
  const families = Object.entries(operations).flatMap(([family, all]) => {
    const rows = Object.values(all).map((each: Operation) => [`  ${called(each)}`, each.summary])
    return ['', `${family}:`, ...textTable(['', ''], rows).slice(1)]
  })
  return ['The operations of the provider; `penstock api NAME --help` tells their parameters.', ...families]
}

/** All that the contract says of one operation. */
export function operationLines(operation: Operation): readonly string[] {
  return [
    `${called(operation)}: ${operation.summary}`,
    `  ${operation.method} ${operation.path}`,
    ...notesOf(operation).flatMap(note => ['', note]),
    '',
    ...parameterLines(operation),
    '',
    `Limit: ${operation.limitGroup}: ${formatLimit(operation)}`,
    '',
    ...errorLines(operation),
    '',
    '`penstock api --help` tells how values are written, the other options and the exit codes.',
  ]
}

/** What Penstock adds to an operation. */
function notesOf(operation: Operation): readonly string[] {
  switch (operation) {
    case createPlayer:
      return [
        'Without a name the player gets one, penstock-RANDOM. After an answer that was lost the player is looked for by its\nname before it is created again, and is found again when the same command, with --name, is repeated later. A name\nthat is taken is a conflict: the player that has it is printed.',
      ]
    case deletePlayer:
      return [
        'A player that is not there counts as deleted. After an answer that was lost it is looked for until it is gone.',
      ]
    case appEvents:
      return [
        'The provider may hand out each event once: what is shown here is then missing from what the daemon hears. The daemon\nis told by the ledger, and reads it from the logs of the rooms.',
      ]
    default:
      return []
  }
}

function parameterLines(operation: Operation): readonly string[] {
  const facts = describeOperation(operation).filter(({ name }) => !isOfProject(name))
  if (facts.length === 0) return ['It has no parameters.']
  const rows = facts.flatMap(fact => {
    const must = fact.name === 'region' ? "the app's" : fact.required ? 'required' : ''
    const rule = fact.secret ? `${fact.rule}; secret: @FILE or env:NAME` : fact.rule
    return [[`  --${fact.name}`, formatType(fact), fact.place, must, rule], ...fact.fields.map(fieldRow)]
  })
  return textTable(['Parameters', 'type', 'place', '', 'rule'], rows)
}

function fieldRow(field: FieldFacts): readonly string[] {
  return [`      ${field.name}`, formatType(field), '', field.required ? 'required' : '', field.rule]
}

function formatType({ type, kind }: FieldFacts): string {
  if (kind === 'json') return `${type} (JSON)`
  return type === 'boolean' ? 'true or false' : type
}

function formatLimit({ limitGroup }: Operation): string {
  if (limitGroup in playerRates) {
    const rates = formatRates(playerRates[limitGroup as PlayerGroup])
    return limitGroup === listPlayers.limitGroup ? `${rates}, for each filter where limits are split` : rates
  }
  if (limitGroup in analyticsLimits) {
    const plans = Object.entries(analyticsLimits[limitGroup as AnalyticsGroup])
    return plans.map(([plan, { rates }]) => `${plan} ${formatRates(rates)}`).join('; ')
  }
  return 'the documents name none; as limits of the configuration says'
}

function formatRates(rates: readonly Rate[]): string {
  return rates.map(({ requests, window }) => `${requests} ${windowText(window)}`).join(' and ')
}

function errorLines({ errors, method }: Operation): readonly string[] {
  const rows = errors.map(({ status, code, meaning, kind = kindOfStatus(status) }) => {
    const mayBeDone = method !== 'GET' && isUncertain(kind)
    const note = mayBeDone ? `${meaning} (it may have been done)` : meaning
    return [
      `  ${status}`,
      code === undefined || code === status ? '' : String(code),
      String(exitCodeOfKind(kind)),
      note,
    ]
  })
  return textTable(['Errors', 'code', 'exit', 'meaning'], rows)
}

/** The operation of a name, however its letters are written. Throws CommandError with the name that may be meant. */
export function findOperation(name: string): Operation {
  const found = allOperations.find(each => called(each).toLowerCase() === name.toLowerCase())
  if (found) return found
  const meant = nearest(name, allOperations.map(called)) ?? ofOwnName(name)
  const hint = meant ? `did you mean ${meant}?` : '`penstock api` lists what there is'
  throw new CommandError(`there is no operation ${name.slice(0, 80)}; ${hint}`, exitUsage)
}

/** For who left the family out. */
function ofOwnName(name: string): string | undefined {
  const meant = nearest(
    name,
    allOperations.map(each => each.name),
  )
  const found = allOperations.find(each => each.name === meant)
  return found && called(found)
}
