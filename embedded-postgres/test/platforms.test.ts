import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { platforms } from '../src/platforms.ts'
import { fromPs, processes } from '../src/processes.ts'

test('npm is told of the packages of every platform, and of no others', async () => {
  const { optionalDependencies } = JSON.parse(await readFile('embedded-postgres/package.json', 'utf8'))
  const packages = platforms.flatMap(({ postgres, node }) => [postgres, node])
  expect(Object.keys(optionalDependencies).toSorted()).toEqual(packages.toSorted())
})

test('the lockfile has each package for the machine that the table names', async () => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
  for (const { os, arch, postgres, node } of platforms) {
    for (const name of [postgres, node]) {
      const found = packages[`node_modules/${name}`]
      expect([found?.os, found?.cpu].flat(), name).toEqual([os, arch])
      expect(found.optional, name).toBe(true)
    }
  }
})

test.each([
  ['of this machine', processes],
  ['of ps', fromPs],
])('the words %s tell the arguments of a process, and none of one that is gone', async (_, from) => {
  const child = spawn('sleep', ['60'], { argv0: '/opt/bin/postgres' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  await expect
    .poll(async () => (await from.argumentsOf(child.pid!)).slice(0, 2))
    .toEqual(['/opt/bin/postgres', '60'])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect((await from.argumentsOf(child.pid!)).filter(word => word !== '')).toEqual([])
  expect(await from.isEnding(child.pid!)).toBe(false)
})
