import { spawnSync } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Context, openContext } from './context.ts'
import { execForm, type Instruction, pairsOf, readDockerfile, type Stage, stageOf } from './dockerfile.ts'

export const repository = fileURLToPath(new URL('../../', import.meta.url))

/** What a container is started from. */
export interface Image {
  /** Folder with the files that the Dockerfile adds to its base image, by their paths in the container. */
  readonly files: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly user: { readonly uid: number; readonly gid: number }
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  readonly healthcheck: readonly string[]
  readonly remove: () => Promise<void>
}

/**
 * Does what the Dockerfile says of the daemon without a container engine: copies what it copies and runs its npm in an empty
 * folder. Throws where it says something that cannot be done so.
 */
export async function buildImage(): Promise<Image> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-image-'))
  await chmod(folder, 0o755)
  const context = openContext(repository)
  const stages = readDockerfile(join(repository, 'Dockerfile'))
  const last = stageOf(stages, 'daemon')
  for (const stage of [stageOf(stages, 'packages'), stageOf(stages, 'program'), last]) {
    const files = join(folder, stage.name)
    await mkdir(files)
    for (const instruction of stage.instructions)
      await perform(instruction, stage, { files, folder, context })
  }
  const text = (name: string) => textOf(last, name)
  const [uid, gid] = text('USER').split(':').map(Number)
  return {
    files: join(folder, last.name),
    workdir: workdirOf(last),
    env: pairsOf(text('ENV')),
    user: { uid: uid!, gid: gid! },
    entrypoint: execForm(text('ENTRYPOINT')),
    cmd: execForm(text('CMD')),
    healthcheck: execForm(text('HEALTHCHECK').replace(/^CMD /, '')),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** What follows the only instruction of this name. */
export function textOf({ instructions }: Stage, name: string): string {
  const [only, another] = instructions.filter(each => each.name === name)
  if (!only || another) throw new Error(`${name} must stand in the last stage once`)
  return only.text
}

export function workdirOf(stage: Stage): string {
  return textOf(stage, 'WORKDIR')
}

interface Place {
  readonly files: string
  readonly folder: string
  readonly context: Context
}

async function perform({ line, name, flags, text }: Instruction, stage: Stage, place: Place): Promise<void> {
  const inside = (path: string) => join(place.files, resolve(workdirOf(stage), path))
  switch (name) {
    case 'WORKDIR':
      await mkdir(inside('.'), { recursive: true })
      return
    case 'COPY': {
      const words = text.split(' ')
      const to = words.pop()!
      for (const from of words) {
        const target = inside(to.endsWith('/') ? join(to, basename(from)) : to)
        if (flags.from) await cp(join(place.folder, flags.from, from), target, { recursive: true })
        else if (place.context.has(from)) place.context.copy(from, target)
        else throw new Error(`line ${line}: ${from} is not there, or .dockerignore leaves it out`)
      }
      return
    }
    case 'RUN':
      if (!/^npm (ci|run) /.test(text)) throw new Error(`line ${line}: only npm is run here`)
      runNpm(text.split(' '), inside('.'))
  }
}

/** What npm tells its scripts, and what would choose other packages than the command does. */
const ofOthers =
  /^(NODE_ENV|INIT_CWD|npm_(package|lifecycle|config_(include|omit|only|production|.*prefix)).*)$/i

/** As in a clean container; what an earlier installation has fetched is not fetched again. */
function runNpm([program, ...args]: readonly string[], cwd: string): void {
  const inherited = Object.entries(process.env).filter(([name]) => !ofOthers.test(name))
  const env = { ...Object.fromEntries(inherited), npm_config_prefer_offline: 'true' }
  const { status, stderr, error } = spawnSync(program!, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`)
}
