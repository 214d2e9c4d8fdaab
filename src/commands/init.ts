import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../config/load.ts'
import { ConfigError, formatProblem, type Problem } from '../config/problem.ts'
import { allowedInstead } from '../config/schema.ts'
import { writeYaml } from '../config/syntax.ts'
import { plans } from '../provider/limits.ts'
import { CommandError, exitUsage } from './cli/exit.ts'
import { printLines } from './cli/output.ts'
import { contents } from './validate.ts'
import { hasEmbeddedPostgres } from './wiring/installation.ts'

interface InitOptions {
  readonly config: string
  readonly force?: boolean
  readonly app?: string
  readonly region?: string
  readonly plan?: string
  readonly database?: string
  readonly classroomUrl?: string
  readonly uid?: string
  readonly tokenFile?: string
  readonly analyticsUrl?: string
  readonly playersUrl?: string
  readonly key?: string
  readonly secretFile?: string
}

type Name = Exclude<keyof InitOptions, 'config' | 'force'>

interface Question {
  readonly name: Name
  readonly text: string
  /** What holds where nothing is answered; absent: something must be. */
  readonly usual?: string
  /** What is typed is not shown, and goes into a file that its owner alone can read. */
  readonly secretFile?: string
  readonly isAsked?: (given: Answers) => boolean
  /** Where the configuration has it: what may not stand there is asked for again. */
  readonly place?: readonly (string | number)[]
}

type Answers = Partial<Record<Name, string>>

/** Answers what was typed, or nothing. */
export type Ask = (question: string, isSecret: boolean) => Promise<string>

const needsRest = (given: Answers) => Boolean(given.analyticsUrl || given.playersUrl)
const needsClassroom = (given: Answers) => Boolean(given.classroomUrl)

const questions: readonly Question[] = [
  { name: 'app', text: 'App ID of your project', place: ['apps', 0, 'id'] },
  {
    name: 'region',
    text: 'Region of its servers (cn, ap, eu, na)',
    usual: 'ap',
    place: ['apps', 0, 'region'],
  },
  {
    name: 'plan',
    text: `Pricing plan (${plans.join(', ')})`,
    usual: 'premium',
    place: ['apps', 0, 'plan'],
  },
  {
    name: 'classroomUrl',
    text: 'Address of the classroom service, https://... (empty: not used)',
    usual: '',
    place: ['provider', 'classroom', 'url'],
  },
  { name: 'uid', text: 'User ID that asks the classroom service', isAsked: needsClassroom },
  { name: 'tokenFile', text: 'Its token', secretFile: 'classroom-token', isAsked: needsClassroom },
  {
    name: 'analyticsUrl',
    text: 'Address of the call analytics service (empty: not used)',
    usual: '',
    place: ['provider', 'analytics', 'url'],
  },
  {
    name: 'playersUrl',
    text: 'Address of the cloud player service (empty: not used)',
    usual: '',
    place: ['provider', 'players', 'url'],
  },
  { name: 'key', text: 'REST key of the project', isAsked: needsRest },
  { name: 'secretFile', text: 'Its REST secret', secretFile: 'rest-secret', isAsked: needsRest },
  {
    name: 'database',
    text: `Address of Postgres, postgres://user:password@host/database${hasEmbeddedPostgres() ? ' ("embedded" starts one)' : ''}`,
    ...(hasEmbeddedPostgres() && { usual: 'embedded' }),
    place: ['database', 'url'],
  },
]

/** Writes a configuration that validate accepts: from flags, and from what a person answers at a terminal. */
export async function init(options: InitOptions): Promise<void> {
  if (!process.stdin.isTTY) return await writeFrom(options, undefined)
  // What is typed of a secret is not shown: the terminal echoes nothing, and we pass on no more than the question.
  let isMuted = false
  const output = new Writable({
    write: (chunk, _encoding, done) =>
      isMuted ? done() : process.stdout.write(chunk as Buffer, () => done()),
  })
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  try {
    await writeFrom(options, async (question, isSecret) => {
      const answer = lines.question(question)
      isMuted = isSecret
      return await answer.finally(() => {
        isMuted = false
        if (isSecret) process.stdout.write('\n')
      })
    })
  } finally {
    lines.close()
  }
}

/** The same with any way to ask; undefined where there is nobody to ask, so that flags must say all. */
export async function writeFrom(options: InitOptions, ask: Ask | undefined): Promise<void> {
  const path = resolve(options.config)
  if (existsSync(path) && !options.force)
    throw new CommandError(
      `${options.config} is there already: choose another file with --config, or write over it with --force`,
    )
  const answers = await answersOf(options, ask, dirname(path))
  if (!answers.classroomUrl && !needsRest(answers))
    throw new CommandError(
      'no service is given: one of --classroom-url, --analytics-url and --players-url is needed',
      exitUsage,
    )
  const text = yamlOf(answers, schemaFrom(dirname(path)))
  const notes = await notesOf(text, options.config, dirname(path))
  await mkdir(dirname(path), { recursive: true })
  // It may hold the password of the database.
  await writeFile(path, text, { mode: 0o600 })
  printLines([
    ...notes,
    'next:',
    `  penstock forecast --config ${options.config}   what will it ask for, and is the plan enough?`,
    `  penstock migrate up --config ${options.config} prepare the database`,
    `  penstock check --config ${options.config}      are the database and the credentials right?`,
    `  penstock run --config ${options.config}        drain`,
  ])
}

/**
 * What is to be said of a configuration. A secret may be where the daemon will run and not here: that its file cannot be
 * read is said, and what is wrong otherwise is thrown.
 */
async function notesOf(text: string, name: string, folder: string): Promise<readonly string[]> {
  try {
    const config = await readConfig(text, { name, env: process.env, folder })
    return [`wrote ${name}: ${contents(config)}`, ...config.warnings.map(text => `warning: ${text}`)]
  } catch (error) {
    const isThere = ({ path }: Problem) => !/^(token|secret)File$/.test(String(path.at(-1)))
    if (!(error instanceof ConfigError) || error.problems.some(isThere)) throw error
    return [`wrote ${name}`, ...error.problems.map(problem => `warning: ${formatProblem(name, problem)}`)]
  }
}

async function answersOf(options: InitOptions, ask: Ask | undefined, folder: string): Promise<Answers> {
  const answers: Answers = {}
  for (const question of questions) {
    const { name, text, usual, secretFile, isAsked } = question
    const flag = options[name]
    if (isAsked && flag === undefined && !isAsked(answers)) continue
    if (flag !== undefined) answers[name] = flag
    else if (ask) {
      const typed = await answerTo(ask, question)
      answers[name] = secretFile ? await keepSecret(folder, `${answers.app}-${secretFile}`, typed) : typed
    } else if (usual !== undefined) answers[name] = usual
    else
      throw new CommandError(
        `--${dashed(name)} is needed: ${text} (at a terminal it is asked for)`,
        exitUsage,
      )
  }
  return answers
}

async function answerTo(ask: Ask, { text, usual, secretFile, place }: Question): Promise<string> {
  const question = `${text}${usual ? ` [${usual}]` : ''}: `
  let why = ''
  for (;;) {
    const typed = (await ask(why + question, secretFile !== undefined)).trim() || usual
    if (typed === undefined) continue
    const allowed = place && typed !== usual ? allowedInstead(place, typed) : undefined
    if (allowed === undefined) return typed
    why = `It must be ${allowed}.\n`
  }
}

/** Writes a secret beside the configuration, for its owner alone; answers the path that the configuration names. */
async function keepSecret(folder: string, name: string, secret: string): Promise<string> {
  const path = join('secrets', name.replaceAll(/[^\w.-]/g, '_'))
  await mkdir(join(folder, 'secrets'), { recursive: true, mode: 0o700 })
  await writeFile(join(folder, path), `${secret}\n`, { mode: 0o600 })
  // One that was there keeps its rights otherwise.
  await chmod(join(folder, path), 0o600)
  return path
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

/** Where an editor finds the schema of this installation, seen from a folder. */
function schemaFrom(folder: string): string {
  const schema = fileURLToPath(new URL('../../config/penstock.schema.json', import.meta.url))
  const path = relative(folder, schema)
  return path.startsWith('.') ? path : `./${path}`
}

function yamlOf(answers: Answers, schema: string): string {
  const { app, region, plan, database, classroomUrl, uid, tokenFile } = answers
  const { analyticsUrl, playersUrl, key, secretFile } = answers
  const service = (url: string | undefined) => (url ? { url } : undefined)
  const settings = {
    database: { url: database },
    provider: {
      classroom: service(classroomUrl),
      analytics: service(analyticsUrl),
      players: service(playersUrl),
    },
    apps: [
      {
        ...{ id: app, region, plan },
        classroom: classroomUrl ? { uid, tokenFile } : undefined,
        rest: analyticsUrl || playersUrl ? { key, secretFile } : undefined,
      },
    ],
  }
  return `# yaml-language-server: $schema=${schema}
#
# Written by penstock init. Every key with its default: config/penstock.example.yaml beside the schema.

${writeYaml(settings)}`
}
