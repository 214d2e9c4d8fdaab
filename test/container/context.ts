import { cpSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** What the builder is given: the folder, less what .dockerignore leaves out. */
export interface Context {
  readonly folder: string
  /** Whether a path inside it, as COPY names it, is there and is sent. */
  readonly has: (path: string) => boolean
  readonly copy: (path: string, to: string) => void
}

export function openContext(folder: string): Context {
  const patterns = readFileSync(join(folder, '.dockerignore'), 'utf8')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
  const isSent = (path: string) => !isIgnored(patterns, normalize(path))
  return {
    folder,
    has: path => isSent(path) && existsSync(join(folder, path)),
    copy: (path, to) =>
      cpSync(join(folder, path), to, {
        recursive: statSync(join(folder, path)).isDirectory(),
        filter: source => isSent(source.slice(folder.length).replace(/^\//, '') || '.'),
      }),
  }
}

/** The last pattern that fits a path or a folder it lies in decides. */
function isIgnored(patterns: readonly string[], path: string): boolean {
  return patterns.reduce((ignored, pattern) => {
    const [negated, glob] = pattern.startsWith('!') ? [true, pattern.slice(1)] : [false, pattern]
    return lineage(path).some(each => expressionOf(glob).test(each)) ? !negated : ignored
  }, false)
}

/** A path and the folders above it; `.` is no part of it. */
function lineage(path: string): readonly string[] {
  return path === '.' ? [] : [path, ...lineage(dirname(path))]
}

/** Unlike a shell's, these patterns match names that begin with a dot too. */
function expressionOf(glob: string): RegExp {
  const parts = glob.split(/(\*\*|\*|\?)/).map(part => wildcards[part] ?? part.replaceAll('.', '\\.'))
  return new RegExp(`^${parts.join('')}$`)
}

const wildcards: Readonly<Record<string, string>> = { '**': '.*', '*': '[^/]*', '?': '[^/]' }
