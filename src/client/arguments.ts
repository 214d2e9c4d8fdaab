import type { z } from 'zod'
import { durationInWords } from '../planning/forecast-format.ts'
import type { RangeLimits } from '../planning/windows.ts'
import { fieldOf } from '../provider/fits.ts'
import {
  called,
  type Operation,
  ParameterError,
  type Parameters,
  type RequestLine,
  requestLine,
} from '../provider/operation.ts'
import { bodyNames } from './describe.ts'

/** The project that an operation is called for. */
export interface Project {
  readonly id: string
  readonly region: string
}

/** Arguments in the places where the contract has them. */
interface Placed {
  readonly parameters: Parameters
  /** Absent where the operation has no body. */
  readonly body?: Parameters
}

/** Whether a parameter tells the project; nobody gives it by hand. */
export function isOfProject(name: string): boolean {
  return name === 'appId' || name === 'appid'
}

/** Puts arguments where the contract has them; project and region come from the app, a region that is given wins. */
export function placeArguments(operation: Operation, given: Parameters, project: Project): Placed {
  const names = [...Object.keys(operation.pathParams), ...Object.keys(operation.queryParams)]
  const parameters = Object.fromEntries(names.map(name => [name, argumentOf(name, given, project)]))
  if (!operation.body) return { parameters }
  const inBody = bodyNames(operation)
  const body = Object.entries(given).filter(([name, value]) => inBody.includes(name) && value !== undefined)
  return { parameters, body: Object.fromEntries(body) }
}

/**
 * Checks arguments against the contract and writes the request line. Throws ParameterError with every rule that is
 * broken, each behind the name of its parameter; values are never told, as they may be secret.
 */
export function requestOf(operation: Operation, given: Parameters, project: Project): RequestLine {
  const placed = placeArguments(operation, given, project)
  const problems = [...unknownNames(operation, given), ...brokenRules(operation, placed)]
  if (problems.length > 0) throw new ParameterError(`${called(operation)}: ${problems.join('; ')}`)
  return requestLine(operation, placed.parameters, placed.body)
}

function argumentOf(name: string, given: Parameters, project: Project): unknown {
  if (isOfProject(name)) return project.id
  return name === 'region' ? (given.region ?? project.region) : given[name]
}

function unknownNames(operation: Operation, given: Parameters): readonly string[] {
  const known = namesOf(operation)
  return Object.keys(given)
    .filter(name => !known.includes(name))
    .map(name => `${name} is no parameter of it; it has ${known.join(', ') || 'none'}`)
}

/** Names of the arguments that may be given. */
export function namesOf(operation: Operation): readonly string[] {
  const { pathParams, queryParams } = operation
  const names = [...Object.keys(pathParams), ...Object.keys(queryParams), ...bodyNames(operation)]
  return names.filter(name => !isOfProject(name))
}

function brokenRules(operation: Operation, { parameters, body }: Placed): readonly string[] {
  const rules = { ...operation.pathParams, ...operation.queryParams }
  const outside = Object.entries(rules).flatMap(([name, rule]) => problemsOf(rule, parameters[name], [name]))
  if (!operation.body) return [...outside, ...backwards(parameters)]
  const halves = Object.entries(body ?? {}).filter(([, value]) => holdsHalf(value))
  return [
    ...outside,
    ...problemsOf(operation.body, body, []),
    ...halves.map(([name]) => `${name}: half a character in it cannot be sent`),
  ]
}

/** Half of a surrogate pair is no text; JSON would send it as a sign that nobody wrote. */
function holdsHalf(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, inner]) => !name.isWellFormed() || holdsHalf(inner))
}

const rangeNames = [
  ['start_ts', 'end_ts'],
  ['startTs', 'endTs'],
] as const

function backwards(given: Parameters): readonly string[] {
  return rangeNames.flatMap(([start, end]) =>
    Number(given[end]) < Number(given[start]) ? [`${end}: must not be before ${start}`] : [],
  )
}

function problemsOf(rule: z.ZodType, value: unknown, at: readonly string[]): readonly string[] {
  const { error } = rule.safeParse(value)
  return (error?.issues ?? []).map(issue => {
    const where = [...at, ...issue.path.map(String)].join('.')
    const isMissing = issue.code !== 'custom' && issue.path.reduce(fieldOf, value) === undefined
    return `${where}: ${isMissing ? 'is missing' : worded(issue)}`
  })
}

/** Rules have words of ours; where one has none, what was expected is enough. */
function worded(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return `must be ${typeWords[issue.expected] ?? issue.expected}`
  }
  if (issue.code === 'unrecognized_keys') return `has no ${issue.keys.join(' and no ')}`
  return issue.message
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

/**
 * What is wrong with the range of time that a question asks for, seen from `now` (Unix seconds, the provider's clock);
 * undefined when the plan serves it, or when it asks for none. All bounds are strict.
 */
export function rangeProblem(
  given: Parameters,
  { availableData, timeFrame, dataDelay }: RangeLimits,
  now: number,
): string | undefined {
  const [startName, endName] = 'start_ts' in given ? ['start_ts', 'end_ts'] : ['startTs', 'endTs']
  const [start, end] = [given[startName], given[endName]]
  if (typeof start !== 'number' || typeof end !== 'number') return undefined
  if (start <= now - availableData)
    return `${startName}: the plan serves the last ${durationInWords(availableData)} only`
  if (end >= now - dataDelay)
    return `${endName}: the plan serves what is older than ${durationInWords(dataDelay)} only`
  if (end - start >= timeFrame)
    return `${startName} to ${endName} must be shorter than ${durationInWords(timeFrame)}`
  return undefined
}
