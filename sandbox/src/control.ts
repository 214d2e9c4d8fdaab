import { FaultError, parseFaultRules } from './faults.ts'
import type { Sandbox } from './sandbox.ts'
import type { SandboxApp } from './stage.ts'
import { type TruthLine, truthJson } from './truth.ts'

const mostArrivals = 1_000
const linesPerChunk = 500

/** What a test or an oracle asks of the sandbox itself. The provider has none of this. */
export function addControl(app: SandboxApp, sandbox: Sandbox): void {
  const { arrivals, faults, universe } = sandbox

  app.get('/control/status', context => context.json(sandbox.status()))

  app.get('/control/truth', context => {
    const { app: id, roomUuid } = context.req.query()
    const lines = sandbox.truth({ app: id, roomUuid })[Symbol.iterator]()
    return new Response(ndjson(lines), { headers: { 'content-type': 'application/x-ndjson' } })
  })

  app.get('/control/room', context => {
    const { app: id = '', roomUuid = '' } = context.req.query()
    const room = sandbox.room(id, roomUuid)
    return room ? context.json(room) : context.json({ error: `the app ${id} never had this room` }, 404)
  })

  app.get('/control/arrivals', context => {
    const after = Number(context.req.query('after') ?? 0)
    return context.json({ total: arrivals.count, list: arrivals.list(after, mostArrivals) })
  })

  app.get('/control/faults', context => context.json(faults.rules))

  app.put('/control/faults', async context => {
    try {
      faults.set(parseFaultRules(await context.req.json()))
      return context.json(faults.rules)
    } catch (error) {
      if (error instanceof FaultError || error instanceof SyntaxError) {
        return context.json({ error: error.message }, 400)
      }
      throw error
    }
  })

  app.post('/control/pause', context => {
    universe.pause()
    return context.json(sandbox.status())
  })

  app.post('/control/resume', context => {
    universe.resume()
    return context.json(sandbox.status())
  })
}

/** Written as it is read, so that a million events never are one string. */
function ndjson(lines: Iterator<TruthLine>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk: string[] = []
        while (chunk.length < linesPerChunk) {
          const next = lines.next()
          if (next.done) break
          chunk.push(truthJson(next.value))
        }
        if (chunk.length > 0) controller.enqueue(encoder.encode(`${chunk.join('\n')}\n`))
        if (chunk.length < linesPerChunk) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
