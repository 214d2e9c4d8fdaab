import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository } from '../container/image.ts'
import type { Rendered } from './helm.ts'

interface Model {
  /** Throws what the schema does not allow. */
  validate(): void
}

type Models = Readonly<Record<string, new (data: object) => Model>>

/** The package that has the schemas of an API group. */
function moduleOf({ apiVersion }: Rendered): string {
  const operator = apiVersion.startsWith('monitoring.coreos.com/')
  return `${operator ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'}/${apiVersion}`
}

/** What the published schema of its kind has against an object; undefined where it has nothing. */
export async function complaintOf(object: Rendered): Promise<string | undefined> {
  const models = (await import(moduleOf(object))) as Models
  const Kind = models[object.kind]
  if (!Kind) return `no schema of ${object.apiVersion} ${object.kind}`
  try {
    new Kind(object).validate()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * What the types made from the same schemas have against objects: a schema says what a field must be, and only a type
 * says which fields there are. A line for each complaint.
 */
export function misspelledIn(objects: readonly Rendered[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-types-'))
  try {
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(join(folder, 'objects.ts'), objects.map(declarationOf).join('\n'))
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024']
    const tsc = join(repository, 'node_modules/.bin/tsc')
    const { status, stdout, error } = spawnSync(tsc, [...options, '--types', '', 'objects.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    if (error) throw error
    return status === 0 ? [] : stdout.trim().split('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function declarationOf(object: Rendered, i: number): string {
  const type = `import('${moduleOf(object)}').I${object.kind}`
  return `export const object${i}: ${type} = ${JSON.stringify(object, undefined, 1)}`
}
