import { fileURLToPath } from 'node:url'
import type { Ended } from './penstock.ts'

/*
 * Plays command lines one after the other in one process, where nothing but the command line matters: to start Node for
 * each takes far longer than all of them. They are given as JSON, and so are the answers.
 */

const program = new URL('../../src/main.ts', import.meta.url)
const tell = process.stdout.write.bind(process.stdout)
const [, , given] = process.argv
const lines = JSON.parse(given!) as readonly (readonly string[])[]
// The program watches its output each time anew.
process.stdout.setMaxListeners(lines.length * 2)

const ended: Ended[] = []
for (const [index, line] of lines.entries()) ended.push(await play(line, index))
process.exitCode = 0
tell(JSON.stringify(ended))

async function play(line: readonly string[], index: number): Promise<Ended> {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array) => {
      said[name] += text.toString()
      return true
    }
  }
  process.argv = [process.execPath, fileURLToPath(program), ...line]
  process.exitCode = undefined
  await import(`${program.href}?${index}`)
  return { code: Number(process.exitCode ?? 0), ...said }
}
