#!/usr/bin/env node
// Runs where an older Node is installed too: the one that npm has brought along takes over.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
// As a whole: an older Node, which has no enableCompileCache, could not import that by its name.
import module from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

const needed = [22, 19]
// A clone runs its source; an installed package has none, and brings it compiled.
const [program] = filesOf('../src/main.ts', '../dist/main.js')
// What `npm start` has installed in a clone; the published package brings none.
const [broughtAlong] = filesOf('../node_modules/.bin/node')

/** What Node has read of the source once: to read TypeScript takes half a second, and 25 MiB from then on. */
const cache = fileURLToPath(new URL('../node_modules/.cache/penstock', import.meta.url))

/** Those of the files that are there, seen from this one. */
function filesOf(...files) {
  return files.map(file => new URL(file, import.meta.url)).filter(existsSync)
}

const [major, minor] = process.versions.node.split('.').map(Number)

if (program === undefined) {
  process.stderr.write('penstock: neither src nor dist is there: install the package again\n')
  process.exitCode = 1
} else if (major > needed[0] || (major === needed[0] && minor >= needed[1])) {
  if (program.pathname.endsWith('.ts')) module.enableCompileCache(cache)
  await import(program.href)
} else if (broughtAlong) {
  const child = spawn(fileURLToPath(broughtAlong), [fileURLToPath(program), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: cache, ...process.env },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
} else {
  process.stderr.write(
    `penstock: Node ${needed.join('.')} or newer is needed, this is ${process.versions.node}: install Node 24, ` +
      'or run `npm start` in a clone of the project, which brings one along\n',
  )
  process.exitCode = 1
}
