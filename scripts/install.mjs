// Installs what is missing before `npm start` and `npm test`. It runs before any dependency exists and on the
// Node that happens to be installed (20 or newer), so it is plain JavaScript and uses Node alone.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.penstock-lock')
const turn = join(root, '.penstock', 'install.pid')
const needed = [22, 19]

try {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (readText(stamp) !== wanted) await installOnce(wanted)
  requireNode()
} catch (error) {
  process.stderr.write(`penstock: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

async function installOnce(wanted) {
  await takeTurn()
  try {
    if (readText(stamp) === wanted) return
    if (!isInstalled()) await install()
    writeFileSync(stamp, wanted)
  } finally {
    rmSync(turn, { force: true })
  }
}

async function install() {
  process.stderr.write('penstock: installing packages (npm ci), about half a minute the first time ...\n')
  // Nothing here needs an install script. --include holds under NODE_ENV=production too.
  const args = ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--no-audit', '--no-fund']
  const npm = process.env.npm_execpath
  const [command, first] = npm ? [process.execPath, [npm]] : ['npm', []]
  const child = spawn(command, [...first, ...args, '--loglevel=error', '--engine-strict=false'], {
    cwd: root,
    env: { ...process.env, ...usableCache() },
    stdio: ['ignore', 'ignore', 2],
  })
  const ended = new AbortController()
  const drawing = drawProgress(ended.signal)
  const { status, signal, error } = await new Promise(resolve => {
    child.on('error', error => resolve({ error }))
    child.on('close', (status, signal) => resolve({ status, signal }))
  })
  ended.abort()
  await drawing
  if (error) throw new Error(`npm could not be run (${error.message}): install npm, then try again`)
  if (status === 0) return
  throw new Error(
    `npm ci ended with ${signal ?? `exit code ${status}`}; its own message stands above. ` +
      'Once the cause is gone (network, disk space, permissions), run the same command again',
  )
}

/** On a terminal, how many of the packages lie there and how long the rest takes; the line goes when all of it is over. */
async function drawProgress(signal) {
  if (!process.stderr.isTTY) return
  const wanted = Object.entries(locked())
    .filter(([, { link, ...each }]) => !link && (each.optional !== true || isForThisMachine(each)))
    .map(([path]) => join(root, path, 'package.json'))
  const begun = performance.now()
  while (!signal.aborted) {
    const share = wanted.filter(file => existsSync(file)).length / wanted.length
    const full = Math.round(share * 20)
    const seconds = Math.ceil(((performance.now() - begun) * (1 - share)) / share / 1_000)
    const about = share > 0.1 && share < 1 ? `, about ${seconds} s` : ''
    process.stderr.write(
      `\r\u001b[2K${'#'.repeat(full)}${'.'.repeat(20 - full)}  ${Math.round(share * 100)} % of the packages${about}`,
    )
    await sleep(250, undefined, { signal }).catch(() => {})
  }
  process.stderr.write('\r\u001b[2K')
}

/** The packages of the lockfile, by where they lie. */
function locked() {
  const { '': _, ...packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return packages
}

/** npm wants a cache that it can write to; a user without a home directory has none. */
function usableCache() {
  const cache = process.env.npm_config_cache ?? join(process.env.HOME || '/nonexistent', '.npm')
  return isWritable(cache) ? {} : { npm_config_cache: join(root, '.penstock', 'npm-cache') }
}

function isWritable(path) {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch (error) {
    return error.code === 'ENOENT' && dirname(path) !== path && isWritable(dirname(path))
  }
}

/** True when somebody ran `npm ci` by hand: npm's own record of what it installed agrees with the lockfile. */
function isInstalled() {
  const record = readText(join(modules, '.package-lock.json'))
  if (record === undefined) return false
  const installed = JSON.parse(record).packages
  return Object.entries(locked()).every(([path, { version, integrity, ...rest }]) => {
    const found = installed[path]
    if (!found) return rest.optional === true && !isForThisMachine(rest)
    return found.version === version && found.integrity === integrity && existsSync(join(root, path))
  })
}

/** Optional packages without a platform, or for one C library only, are npm's to choose. */
function isForThisMachine({ os, cpu, libc }) {
  return !libc && os?.includes(process.platform) === true && cpu?.includes(process.arch) === true
}

/** Waits until no other process installs here. A file left by a process that has died does not count. */
async function takeTurn() {
  mkdirSync(dirname(turn), { recursive: true })
  for (let told = false; ; told = true) {
    try {
      writeFileSync(turn, String(process.pid), { flag: 'wx' })
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const pid = Number(readText(turn))
    if (pid > 0 && !isAlive(pid)) rmSync(turn, { force: true })
    else if (!told) process.stderr.write(`penstock: waiting for process ${pid}, which is installing here\n`)
    await sleep(200)
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** npm puts node_modules/.bin first on the path of its scripts, so the Node brought by a package is the one used. */
function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > needed[0] || (major === needed[0] && minor >= needed[1])) return
  if (existsSync(join(modules, '.bin', 'node'))) return
  throw new Error(
    `Node ${needed.join('.')} or newer is needed, this is ${process.versions.node}, and npm has no Node for ` +
      `${process.platform} on ${process.arch}: install Node 24 from https://nodejs.org and try again`,
  )
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  }
}
