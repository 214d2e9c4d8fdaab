import { createSandbox, type Sandbox } from '../../../sandbox/src/index.ts'
import type { Clock } from '../../../src/clock/clock.ts'
import { rest } from './stage.ts'

/** One metric of a session, of itself (peer 0) or of a remote user, as the provider serves it. */
export interface ServedSeries {
  readonly sid: string
  readonly mid: number
  readonly peer: number
  readonly pairs: readonly (readonly [second: number, value: unknown])[]
}

/** What one request may ask for. */
export interface Question {
  readonly callId: string
  /** Both included, Unix seconds. */
  readonly from: number
  readonly to: number
  readonly sids: readonly string[]
}

/** The same world once more, which nobody disturbs: what the provider says to a question without faults and limits. */
export interface Twin {
  metrics(app: string, question: Question): Promise<readonly ServedSeries[]>
}

/** Longer than the shortest window of any limit, so that the twin never refuses, ms. */
const pause = 1_500
const mostSids = 20

/** A sandbox with the settings of another one that began at `origin`, as it stands `age` later; both in ms. */
export function createTwin({ settings }: Sandbox, origin: number, age: number): Twin {
  let elapsed = 0
  const clock: Clock = {
    now: () => origin + elapsed,
    monotonic: () => elapsed,
    sleep: async () => {},
  }
  const apps = settings.apps.map(({ limits: _, ...app }) => app)
  const sandbox = createSandbox({ ...settings, clock, apps, faults: [] })
  elapsed = age
  return {
    metrics: async (app, question) => {
      const found: ServedSeries[] = []
      for (let n = 0; n < question.sids.length; n += mostSids) {
        elapsed += pause
        found.push(...(await ask(sandbox, app, { ...question, sids: question.sids.slice(n, n + mostSids) })))
      }
      return found
    },
  }
}

interface Answer {
  readonly message: string
  readonly metrics?: readonly {
    readonly sid: string
    readonly data: readonly {
      readonly mid: number
      readonly peer_uid: number
      readonly kvs: ServedSeries['pairs']
    }[]
  }[]
}

async function ask(sandbox: Sandbox, appid: string, { callId, from, to, sids }: Question) {
  const query = new URLSearchParams({
    ...{ appid, call_id: callId, sids: sids.join() },
    ...{ start_ts: String(from), end_ts: String(to) },
  })
  const authorization = `Basic ${btoa(`${rest.key}:${rest.secret}`)}`
  const url = `http://twin.test/beta/analytics/call/metrics?${query}`
  const response = await sandbox.fetch(new Request(url, { headers: { authorization } }))
  const { metrics, message } = (await response.json()) as Answer
  if (!metrics) throw new Error(`the twin did not answer: ${message}`)
  return metrics.flatMap(({ sid, data }) =>
    data.map(({ mid, peer_uid: peer, kvs: pairs }): ServedSeries => ({ sid, mid, peer, pairs })),
  )
}
