import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

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
  return followStreams([child.stdout!, child.stderr!], once(child, 'close'))
}

/** The same of any streams; `closed` resolves with an exit code, where there is one, when there is no more. */
export function followStreams(outputs: readonly Readable[], closed: Promise<unknown[]>): Output {
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const tell = () => {
    for (const look of waiting) look()
  }
  for (const output of outputs) {
    createInterface({ input: output }).on('line', text => {
      lines.push(text)
      tell()
    })
  }
  let isOver = false
  const ended = closed.then(([code = null]) => {
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
