import { readdirSync, readFileSync } from 'node:fs'

/** The program, and beside it the workspaces that only a clone has. */
export const workspaces = ['sandbox', 'embedded-postgres'] as const

/** Paths of all source files, from the root. */
export const files = ['src', ...workspaces.map(name => `${name}/src`)].flatMap(folder =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${folder}/${name}`),
)

export const texts: ReadonlyMap<string, string> = new Map(
  files.map(file => [file, readFileSync(file, 'utf8')]),
)
