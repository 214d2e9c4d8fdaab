/**
 * Writes what is made from code: the published schema of the configuration and the reference documents. With
 * `--check` it only says what is out of date, and exits 1.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { references } from './references.ts'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const root = new URL('../', import.meta.url)

for (const [path, text] of Object.entries(await references())) {
  const file = new URL(path, root)
  const current = await readFile(file, 'utf8').catch(() => undefined)
  if (current === text) continue
  if (values.check) {
    process.stderr.write(`${path} is out of date; run npm run generate\n`)
    process.exitCode = 1
  } else {
    await mkdir(new URL('./', file), { recursive: true })
    await writeFile(file, text)
    process.stdout.write(`${path} written\n`)
  }
}
