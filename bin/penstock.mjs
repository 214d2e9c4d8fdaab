#!/usr/bin/env node
// Runs where an older Node is installed too: the one that npm has brought along takes over.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

const needed = [22, 19]
const program = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const broughtAlong = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))

const [major, minor] = process.versions.node.split('.').map(Number)

if (major > needed[0] || (major === needed[0] && minor >= needed[1])) {
  await import('../src/main.ts')
} else if (existsSync(broughtAlong)) {
  const child = spawn(broughtAlong, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
} else {
  process.stderr.write(
    `penstock: Node ${needed.join('.')} or newer is needed, this is ${process.versions.node}: ` +
      'run `npm install` in the folder of penstock, which brings one along, or install Node 24\n',
  )
  process.exitCode = 1
}
