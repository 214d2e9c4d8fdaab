// Makes JavaScript of src for an installed package: Node does not read TypeScript under node_modules. A clone needs
// none of it. Runs before the package is packed.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

if (existsSync(compiler)) {
  // What an earlier build left of files that are gone would be packed too.
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const args = [compiler, '--project', join(root, 'tsconfig.build.json')]
  // npm reads the list of packed files from standard output.
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] })
  process.exitCode = status ?? 1
} else {
  process.stderr.write(
    'penstock: packing needs the compiler: run `npm ci --ignore-scripts` first, development packages included\n',
  )
  process.exitCode = 1
}
