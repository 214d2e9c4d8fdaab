import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { files, texts, workspaces } from './support/source-files.ts'

/** The rules between modules, as ARCHITECTURE.md tells them. Each failure names the file and what to do. */

interface Import {
  readonly file: string
  readonly target: string
  readonly isTypeOnly: boolean
}

const codes = new Map([...texts].map(([file, text]) => [file, withoutComments(text)]))
const imports = files.flatMap(importsOf)
const inside = imports.filter(({ target }) => /^(sandbox\/|embedded-postgres\/)?src\//.test(target))
const outside = imports.filter(each => !inside.includes(each) && !/^(node:|package\.json$)/.test(each.target))

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

/** Static, re-exported, side-effect and dynamic imports; `target` is a path from the root, or a package. */
function importsOf(file: string): Import[] {
  const code = codes.get(file)!
  const named = /^\s*(?:import|export)\s+(type\s+)?(?:[\w$*\s,]|\{[^}]*\})*?\s*from\s*['"]([^'"]+)['"]/gm
  const bare = /^\s*import\s+['"]([^'"]+)['"]/gm
  const called = /\bimport\(\s*['"`]([^'"`]+)['"`]/g
  return [
    ...[...code.matchAll(named)].map(([, type, target]) => ({ isTypeOnly: type !== undefined, target })),
    ...[...code.matchAll(bare)].map(([, target]) => ({ isTypeOnly: false, target })),
    ...[...code.matchAll(called)].map(([, target]) => ({ isTypeOnly: false, target })),
  ].map(({ isTypeOnly, target }) => ({ file, isTypeOnly, target: resolve(file, target!) }))
}

function resolve(file: string, target: string): string {
  return target.startsWith('.') ? normalize(join(dirname(file), target)) : target
}

function moduleOf(path: string): string {
  const [place = '', first = ''] = path.split('/')
  if (place !== 'src') return place
  return /^(main|index)\.ts$/.test(first) ? first.replace('.ts', '') : first
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}

interface Module {
  /** Modules or single files that it may import; `type:` before one that lends its types only. */
  readonly imports: readonly string[]
  /** Modules of Node; all where it is not said. */
  readonly node?: readonly string[]
}

const modules: Readonly<Record<string, Module>> = {
  clock: { imports: [], node: ['node:crypto'] },
  tables: { imports: [], node: [] },
  provider: { imports: ['type:planning'], node: [] },
  planning: { imports: [], node: [] },
  settings: { imports: [], node: [] },
  streams: { imports: ['provider', 'planning', 'tables', 'settings'], node: ['node:crypto'] },
  engine: { imports: ['streams', 'provider', 'planning', 'clock', 'tables'], node: [] },
  client: { imports: ['engine', 'provider', 'planning', 'clock', 'tables'], node: ['node:crypto'] },
  postgres: {
    imports: [
      ...[
        'engine/ports.ts',
        'type:client/ports.ts',
        'streams/stream.ts',
        'streams/page.ts',
        'streams/index.ts',
      ],
      ...['provider', 'planning', 'clock', 'tables'],
    ],
  },
  http: { imports: ['engine/ports.ts', 'provider', 'planning', 'clock', 'tables'] },
  telemetry: { imports: ['engine/ports.ts', 'provider', 'planning', 'clock', 'tables'] },
  sandbox: { imports: ['provider', 'clock'] },
  'embedded-postgres': { imports: ['clock'] },
  config: { imports: ['provider', 'settings', 'streams', 'tables'] },
  commands: {
    imports: [
      ...['clock', 'tables', 'provider', 'planning', 'streams', 'engine', 'postgres', 'http', 'telemetry'],
      ...['settings', 'config', 'client', 'sandbox', 'embedded-postgres'],
    ],
  },
  main: { imports: ['commands'] },
  // The library wires like a command.
  index: { imports: ['commands', 'client', 'config', 'clock', 'http', 'provider'] },
}

/** Who may use a package from outside. */
const owners: Readonly<Record<string, readonly string[]>> = {
  zod: ['src/provider/', 'src/settings/', 'src/streams/', 'src/config/', 'src/client/'],
  undici: ['src/http/'],
  // Commands hand a pool on and never look inside.
  pg: ['src/postgres/', 'embedded-postgres/', 'type:src/commands/', 'type:sandbox/'],
  kysely: ['src/postgres/'],
  'pg-boss': ['src/postgres/shard-jobs.ts'],
  bottleneck: ['src/engine/admission/queue.ts'],
  'node-cron': ['src/settings/cron.ts'],
  pino: ['src/telemetry/'],
  'prom-client': ['src/telemetry/'],
  ghtml: ['src/telemetry/page/'],
  hono: ['sandbox/'],
  '@hono/node-server': ['sandbox/'],
  yaml: ['src/config/'],
  commander: ['src/commands/', 'src/main.ts'],
}

function mayImport({ file, target, isTypeOnly }: Import): boolean {
  const module = moduleOf(file)
  const to = moduleOf(target)
  const path = target.startsWith('src/') ? target.slice('src/'.length) : to
  if (to === module) return true
  return modules[module]!.imports.some(allowed => {
    const [name, kind] = allowed.startsWith('type:') ? [allowed.slice(5), 'type'] : [allowed, 'all']
    return (path === name || path.startsWith(`${name}/`)) && (kind === 'all' || isTypeOnly)
  })
}

describe('the modules', () => {
  it('every file of src lies in a module that has a rule', () => {
    const homeless = files.filter(file => !modules[moduleOf(file)])
    expect(homeless, 'move the file into a module, or give its module a rule here').toEqual([])
  })

  it.each(Object.keys(modules))('%s imports only what it may', module => {
    const broken = inside
      .filter(each => moduleOf(each.file) === module && !mayImport(each))
      .map(({ file, target }) => `${file} imports ${target}`)
    const allowed = modules[module]!.imports.join(', ') || 'nothing'
    expect(broken, `${module} may import ${allowed}: move what is shared, or pass it in`).toEqual([])
  })

  it('the pure modules use no module of Node but those they need', () => {
    const broken = imports.flatMap(({ file, target }) => {
      const { node } = modules[moduleOf(file)]!
      return target.startsWith('node:') && node && !node.includes(target) ? [`${file} imports ${target}`] : []
    })
    expect(broken, 'take it as a parameter or through a port').toEqual([])
  })

  it('nothing in src imports a test, a script or a migration', () => {
    const broken = imports
      .filter(({ target }) => /^(test|bench|scripts|migrations)\//.test(target))
      .map(({ file, target }) => `${file} imports ${target}`)
    expect(broken, 'what both need belongs into src').toEqual([])
  })

  it('every import of a file names one that exists', () => {
    const broken = inside
      .filter(({ target }) => !texts.has(target))
      .map(({ file, target }) => `${file}: ${target}`)
    expect(broken, 'name the file with its ending .ts').toEqual([])
  })

  it('the workspaces are found by one file alone, when they are needed', () => {
    const finders = inside
      .filter(({ file, target }) => moduleOf(target) !== moduleOf(file) && isWorkspace(moduleOf(target)))
      .filter(({ isTypeOnly }) => !isTypeOnly)
      .map(({ file, target }) => `${file} imports ${target}`)
    expect(finders, 'load it through src/commands/wiring/installation.ts').toEqual([
      'src/commands/wiring/installation.ts imports sandbox/src/index.ts',
      'src/commands/wiring/installation.ts imports embedded-postgres/src/index.ts',
    ])
    const statically = /^import\s(?!type)[^\n]*(sandbox|embedded-postgres)\/src/m
    expect(codes.get('src/commands/wiring/installation.ts')).not.toMatch(statically)
  })

  it('the folders of the engine import only downward', () => {
    const broken = inside
      .filter(({ file, target }) => moduleOf(file) === 'engine' && moduleOf(target) === 'engine')
      .filter(({ file, target }) => {
        const [own, other] = [inEngine(file), inEngine(target)]
        return other.level > own.level || (other.level === own.level && other.folder !== own.folder)
      })
      .map(({ file, target }) => `${file} imports ${target}`)
    expect(broken, 'move what both need further down').toEqual([])
  })

  it('no import leads in a circle', () => {
    expect(cycles(), 'move what both need into a file of its own').toEqual([])
  })
})

const isWorkspace = (module: string) => workspaces.some(name => name === module)

/** From what everything uses up to what wires it; files that are not named lie with the way of a page. */
const engineLevels = [
  ['ports', 'settings'],
  ['admission'],
  ['page'],
  ['series', 'ranges'],
  ['app', 'supervisor'],
] as const

function inEngine(path: string): { readonly level: number; readonly folder: string } {
  const name = path.split('/')[2]!.replace('.ts', '')
  const level = engineLevels.findIndex(names => names.some(each => each === name))
  return level < 0 ? inEngine('src/engine/page') : { level, folder: level === 4 ? 'top' : name }
}

function cycles(): readonly string[] {
  const state = new Map<string, 'open' | 'done'>()
  const found: string[] = []
  const walk = (file: string, path: readonly string[]) => {
    state.set(file, 'open')
    for (const { target } of inside.filter(each => each.file === file)) {
      if (state.get(target) === 'open') found.push([...path.slice(path.indexOf(target)), target].join(' -> '))
      else if (!state.has(target)) walk(target, [...path, target])
    }
    state.set(file, 'done')
  }
  for (const file of files) if (!state.has(file)) walk(file, [file])
  return found
}

describe('packages from outside', () => {
  it('each is used by its owner alone', () => {
    const broken = outside.flatMap(({ file, target, isTypeOnly }) => {
      const allowed = owners[packageOf(target)]
      const isOwner = (owner: string) =>
        owner.startsWith('type:') ? isTypeOnly && file.startsWith(owner.slice(5)) : file.startsWith(owner)
      if (allowed?.some(isOwner)) return []
      return [`${file} imports ${target}, which belongs to ${allowed?.join(' and ') ?? 'nobody yet'}`]
    })
    expect(broken, 'ask the owner for what is needed, or name an owner here').toEqual([])
  })

  const manifests = [
    { folder: 'src', manifest: 'package.json' },
    ...workspaces.map(name => ({ folder: `${name}/src`, manifest: `${name}/package.json` })),
  ]
  const read = (path: string) =>
    JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string>>

  it.each(manifests)('every one that $manifest asks for is used in $folder, and no other', each => {
    const asked = Object.keys(read(each.manifest).dependencies!)
    const used = outside.filter(({ file }) => file.startsWith(`${each.folder}/`))
    expect(new Set(asked), `mend ${each.manifest}`).toEqual(
      new Set(used.filter(({ isTypeOnly }) => !isTypeOnly).map(({ target }) => packageOf(target))),
    )
  })

  it.each(manifests)('those that $manifest asks for are pinned exactly', ({ manifest }) => {
    const { dependencies, devDependencies = {}, optionalDependencies = {} } = read(manifest)
    const loose = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-\S+)?$/.test(version),
    )
    expect(loose, 'write the version without a range').toEqual([])
  })

  it('no script of their own is run by what anyone is told to install with', () => {
    const told = ['CONTRIBUTING.md', 'README.md', 'Dockerfile', 'scripts/build.mjs'].flatMap(file => {
      const commands = readFileSync(file, 'utf8').match(/npm (?:ci|install|i)\b[^`\n]*/g) ?? []
      return commands.map(command => [file, command])
    })
    expect(told.length).toBeGreaterThan(1)
    const running = told.filter(([, command]) => !command!.includes('--ignore-scripts'))
    expect(running, 'say --ignore-scripts, or node scripts/install.mjs').toEqual([])
  })
})

describe('time and chance', () => {
  const forbidden = [
    /\bDate\.now\b/,
    /\bnew Date\(\s*\)/,
    /(?<!new )\bDate\(\s*\)/,
    /\bperformance\.(now|timeOrigin)\b/,
    /\bMath\.random\b/,
    /\b(setTimeout|setInterval|setImmediate)\b/,
    /\bAbortSignal\.timeout\b/,
    /\brandomUUID\b/,
    /\b(randomInt|getRandomValues)\b/,
  ]

  /** Runs in a browser. */
  const scriptOfPage = 'src/telemetry/page/assets.ts'

  /** Passwords are made by randomBytes: they must be unguessable, and no run depends on them. */
  const exempt: readonly string[] = ['src/clock/', 'src/http/', scriptOfPage]

  it('come through the ports of clock alone', () => {
    const broken = [...codes]
      .filter(([file]) => !exempt.some(prefix => file.startsWith(prefix)))
      .flatMap(([file, code]) =>
        forbidden.flatMap(
          pattern =>
            pattern
              .exec(code)
              ?.slice(0, 1)
              .map(hit => `${file}: ${hit}`) ?? [],
        ),
      )
    expect(broken, 'take a Clock or a Random').toEqual([])
  })
})
