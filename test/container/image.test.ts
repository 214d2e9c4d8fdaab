import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import brought from '../../embedded-postgres/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { openContext } from './context.ts'
import { execForm, type Instruction, pairsOf, readDockerfile, stageOf } from './dockerfile.ts'
import { repository, textOf, workdirOf } from './image.ts'

const stages = readDockerfile(join(repository, 'Dockerfile'))
const last = stageOf(stages, 'daemon')
const demo = stageOf(stages, 'demo')
const all = stages.flatMap(stage => stage.instructions)
const context = openContext(repository)

function sourcesOf({ text }: Instruction): readonly string[] {
  return text.split(' ').slice(0, -1)
}

describe('the Dockerfile', () => {
  test('is built on one exact version of Node, the one that tests on Linux run on', () => {
    const nodes = Object.entries(brought.optionalDependencies).filter(([name]) =>
      name.startsWith('node-linux-'),
    )
    const versions = new Set(nodes.map(([, version]) => version))
    expect(versions.size).toBe(1)
    const names = new Set(stages.map(({ name }) => name))
    const bases = stages.map(({ image }) => image).filter(image => !names.has(image))
    expect(new Set(bases)).toEqual(new Set([`node:${[...versions][0]}-slim`]))
  })

  test('makes the daemon where no target is named, which holds neither sandbox nor Postgres', () => {
    expect(stages.at(-1)).toEqual({ image: 'daemon', name: '', instructions: [] })
    const copied = last.instructions.filter(({ name }) => name === 'COPY').flatMap(sourcesOf)
    expect(copied.filter(path => /sandbox|embedded/.test(path))).toEqual([])
    expect(demo.image).toBe('daemon')
  })

  test('copies nothing that is not there or not sent to the builder', () => {
    const copied = all.filter(({ name, flags }) => name === 'COPY' && !flags.from).flatMap(sourcesOf)
    expect(copied.length).toBeGreaterThan(4)
    expect(copied.filter(path => !context.has(path))).toEqual([])
  })

  test('sends nothing to the builder that it does not copy', () => {
    const copied = new Set(all.filter(({ name }) => name === 'COPY').flatMap(sourcesOf))
    const sent = readdirSync(repository).filter(name => context.has(name))
    expect(sent.filter(name => !copied.has(name))).toEqual([])
  })

  test('takes over from a stage only what that stage has made', () => {
    for (const [stage, made] of [
      [last, { packages: 'node_modules', program: 'dist' }],
      [demo, { 'demo-packages': 'node_modules' }],
    ] as const) {
      const taken = stage.instructions.filter(({ flags }) => flags.from !== undefined)
      expect(taken.map(({ flags }) => flags.from)).toEqual(Object.keys(made))
      expect(taken.flatMap(sourcesOf)).toEqual(
        Object.entries(made).map(([name, what]) => `${workdirOf(stageOf(stages, name))}/${what}`),
      )
    }
  })

  test('installs what the lockfile says for production, and runs no script of a package', () => {
    const commands = (stage: string) =>
      stageOf(stages, stage)
        .instructions.filter(({ name }) => name === 'RUN')
        .map(({ text }) => text)
    expect(commands('packages')).toEqual(['npm ci --omit=dev --ignore-scripts'])
    expect(commands('demo-packages')).toEqual(['npm ci --omit=dev --ignore-scripts'])
    expect(commands('program')).toEqual(['npm ci --ignore-scripts', 'npm run build'])
    expect([...commands('daemon'), ...commands('demo')]).toEqual([])
  })

  test('fetches nothing by itself and starts no shell', () => {
    expect(all.filter(({ name, text }) => name === 'ADD' || /\b(curl|wget|apt-get)\b/.test(text))).toEqual([])
    for (const name of ['ENTRYPOINT', 'CMD']) expect(execForm(textOf(last, name)).length).toBeGreaterThan(0)
    expect(textOf(last, 'HEALTHCHECK')).toMatch(/^(--\S+ )*CMD \[/)
  })

  test('is nobody that a cluster would refuse: a number, and not that of root', () => {
    expect(textOf(last, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  })

  test('ends at the signal that the daemon drains at', () => {
    expect(textOf(last, 'STOPSIGNAL')).toBe('SIGTERM')
  })

  test('is labelled as the package is', () => {
    expect(pairsOf(textOf(last, 'LABEL'))).toEqual({
      'org.opencontainers.image.title': 'Penstock',
      'org.opencontainers.image.description': manifest.description,
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.licenses': manifest.license,
    })
  })

  test('names no folder of the program that another one needs at run time and does not get', () => {
    const copied = new Set(all.filter(({ name }) => name === 'COPY').flatMap(sourcesOf))
    const reached = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .flatMap(file => [
        ...readFileSync(join(repository, 'src', file), 'utf8').matchAll(
          /new URL\('(?:\.\.\/)+([\w-]+)\/?'|from '(?:\.\.\/)+(package\.json)'/g,
        ),
      ])
      .map(([, folder, file]) => folder ?? file!)
      .filter(name => existsSync(join(repository, name)))
    expect(new Set(reached)).toEqual(new Set(['migrations', 'package.json']))
    expect(reached.filter(name => !copied.has(name))).toEqual([])
  })
})
