import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** What a child prints while it runs, and how it ends. */
export interface Output {
  /** Everything printed so far, on both streams. */
  readonly lines: readonly string[]
  /** Resolves with the first line that matches; rejects when the process ends without one. */
  readonly line: (pattern: RegExp) => Promise<string>
  /** The exit code, once all of it has been read; null where a signal ended it. */
  readonly ended: Promise<number | null>
}

/** Reads both streams of a child line by line. */
export function follow(child: ChildProcess): Output {
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const tell = () => {
    for (const look of waiting) look()
  }
  for (const output of [child.stdout!, child.stderr!]) {
    createInterface({ input: output }).on('line', text => {
      lines.push(text)
      tell()
    })
  }
  let isOver = false
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    tell()
    return code as number | null
  })
  const line = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.find(text => pattern.test(text))
        if (found === undefined && !isOver) return
        waiting.delete(look)
        if (found === undefined) reject(new Error(`no line like ${pattern} in:\n${lines.join('\n')}`))
        else resolve(found)
      }
      waiting.add(look)
      look()
    })
  return { lines, line, ended }
}
