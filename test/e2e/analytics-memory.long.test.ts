import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'
import { type CallStage, openCallStage } from './analytics/stage.ts'

let stage: CallStage
/** How many sessions each question about metrics named, by its call. */
const asked = new Map<string, number[]>()

/** Pages of metrics beyond a mebibyte. */
beforeAll(async () => {
  stage = await openCallStage(
    { name: 'large answers', load: { callsPerDay: 12, minutes: 20 }, switches: { metricSeconds: 1 } },
    listened,
  )
})
afterAll(() => stage.close())

function listened(sandbox: Sandbox): Sandbox {
  const fetch: Sandbox['fetch'] = (request, hangUp) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname.endsWith('/call/metrics')) {
      const call = searchParams.get('call_id')!
      asked.set(call, [...(asked.get(call) ?? []), searchParams.get('sids')!.split(',').length])
    }
    return sandbox.fetch(request, hangUp)
  }
  return new Proxy(sandbox, { get: (target, key) => (key === 'fetch' ? fetch : Reflect.get(target, key)) })
}

const inHand = `select item, part from ingest.work_item
  where state = 'pending' and in_hand_version = version order by item limit 1`

interface Place {
  readonly item: string
  readonly part: string
}

/** Ends the daemon with a large answer in its hands; answers which. */
async function dieReading(): Promise<Place> {
  for (;;) {
    const daemon = stage.start()
    await daemon.ready
    while ((await ask(stage.databaseUrl, inHand)).length === 0) await systemClock.sleep(5)
    await daemon.kill()
    const [left] = await ask(stage.databaseUrl, inHand)
    // It may have been stored in the very last moment.
    if (left) return left as unknown as Place
  }
}

it('an answer with which a process ended is asked for in parts, and nothing is lost', async () => {
  const { item, part } = await dieReading()
  const before = asked.get(item)!.length
  const [sessions] = asked.get(item)!
  const daemon = stage.start()
  await daemon.ready
  const backlog = `select count(*)::int as backlog from ingest.work_item where state = 'pending' and stream = 'call-metrics'
    and item = '${item}'`
  while ((await ask(stage.databaseUrl, backlog))[0]!.backlog !== 0) await systemClock.sleep(100)
  expect(asked.get(item)!.slice(before).toSorted()).toEqual([
    Math.floor(sessions! / 2),
    Math.ceil(sessions! / 2),
  ])
  const states = `select state from ingest.work_item where item = '${item}' and part like '${part}%' order by part`
  expect(await ask(stage.databaseUrl, states)).toEqual([
    { state: 'split' },
    { state: 'done' },
    { state: 'done' },
  ])
  const stored = `select count(distinct sid)::int as sessions from analytics.session_metric where call_id = '${item}'`
  expect(await ask(stage.databaseUrl, stored)).toEqual([{ sessions }])
  expect(
    await ask(stage.databaseUrl, 'select from ingest.dead_letter union all select from ingest.gap'),
  ).toEqual([])
  expect(daemon.lines.map(({ msg }) => msg)).toContain(
    'a process ended while it read a large answer; less is asked for',
  )
  expect(await daemon.terminate()).toBe(0)
})
