import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { systemClock } from '../../../src/clock/system.ts'
import type { RunningServer } from '../../../src/telemetry/listener.ts'
import { createPage } from '../../../src/telemetry/page/page.ts'
import type { PageFacts } from '../../../src/telemetry/page/parts.ts'
import { startServer } from '../../../src/telemetry/server.ts'
import { situations, thousandApps } from './situations.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(path => existsSync(path))

/** Whether there is a browser to look with. */
export const hasBrowser = executablePath !== undefined

export function openBrowser(): Promise<Browser> {
  if (!executablePath) throw new Error('there is no Chromium: apt-get install chromium')
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

const all = { ...situations, 'thousand-apps': thousandApps }
export type SituationName = keyof typeof all

/** Each situation as a daemon of its own would serve it; what is served can be changed meanwhile. */
export async function servePages() {
  const quiet = () => {}
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const shown = new Map<string, PageFacts>(Object.entries(all))
  const servers = new Map<string, RunningServer>()
  for (const name of shown.keys()) {
    const facts = () => shown.get(name)!
    const status = async () => facts().status
    const page = createPage({
      ...{ clock: systemClock, log, status, streams: facts().streams },
      readTimelines: async () => facts().timelines,
    })
    const server = await startServer({
      ...{ listen: { host: '127.0.0.1', port: 0 }, refused: quiet, clock: systemClock, log, status, page },
      meter: { scrape: async () => '', contentType: 'text/plain' },
      health: { alive: () => true, notReady: async () => [] },
    })
    servers.set(name, server)
  }
  return {
    url: (name: SituationName) => servers.get(name)!.url,
    /** From now on the address of one situation shows another. */
    change: (name: SituationName, to: SituationName) => void shown.set(name, all[to]),
    stop: (name: SituationName) => servers.get(name)!.close(),
    close: () => Promise.all([...servers.values()].map(server => server.close())),
  }
}
