import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Debian's package prometheus has both programs; where it must be there, its absence is a failure. */
export const canRun =
  spawnSync('promtool', ['--version']).status === 0 || process.env.REQUIRE_PROMTOOL !== undefined

export interface Ran {
  readonly status: number | string
  readonly text: string
}

/** Runs promtool to its end. */
export function promtool(...args: readonly string[]): Promise<Ran> {
  return new Promise(resolve => {
    execFile('promtool', [...args], (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? 'killed') : 0, text: `${stdout}${stderr}` })
    })
  })
}

/** What promtool says against these queries of Prometheus; '' when it can read them all. */
export async function complaintsAbout(queries: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-queries-'))
  try {
    const path = join(folder, 'queries.yaml')
    const rules = queries.map((expr, n) => ({ record: `query_${n}`, expr }))
    await writeFile(path, JSON.stringify({ groups: [{ name: 'queries', rules }] }))
    const { status, text } = await promtool('check', 'rules', path)
    return status === 0 ? '' : text
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
