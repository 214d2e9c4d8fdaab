import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { destroyEmbedded } from '../../embedded-postgres/src/start.ts'
import { systemClock } from '../../src/clock/system.ts'
import { penstock } from '../commands/penstock.ts'

/** The README as a newcomer follows it: the demo, and then its queries as they are written. */

let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'penstock-readme-'))
  await chmod(dataDir, 0o755)
  const { code, stderr } = await penstock(['demo', '--for', '20s', '--data-dir', dataDir])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

afterAll(async () => {
  await destroyEmbedded(dataDir, systemClock)
  await rm(dataDir, { recursive: true, force: true })
})

test('every query of the README answers rows on the data of the demo', async () => {
  const readme = await readFile('README.md', 'utf8')
  const queries = [...readme.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, query]) => query!)
  expect(queries.length).toBeGreaterThanOrEqual(3)
  for (const query of queries) {
    const { code, stdout, stderr } = await penstock(['sql', query, '--demo', '--data-dir', dataDir, '--json'])
    expect({ code, stderr }, query).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).length, query).toBeGreaterThan(0)
  }
})
