// Makes JavaScript of src for an installed package: Node does not read TypeScript under node_modules. A clone needs
// none of it. Runs before the package is packed.
import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

if (existsSync(compiler)) {
  // What an earlier build left of files that are gone would be packed too.
  const [dist, built] = [join(root, 'dist'), join(root, 'dist-with-workspaces')]
  for (const folder of [dist, built]) rmSync(folder, { recursive: true, force: true })
  const args = [compiler, '--project', join(root, 'tsconfig.build.json')]
  // npm reads the list of packed files from standard output.
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] })
  process.exitCode = status ?? 1
  // The compiler follows the types of the workspaces, which are not for the package.
  if (existsSync(join(built, 'src'))) renameSync(join(built, 'src'), dist)
  rmSync(built, { recursive: true, force: true })
} else {
  process.stderr.write(
    'penstock: packing needs the compiler: run `npm ci --ignore-scripts` first, development packages included\n',
  )
  process.exitCode = 1
}
