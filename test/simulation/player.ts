import { startTestServer } from '../support/postgres.ts'
import { play, type Wish } from './play.ts'

/** A player in a process of its own, with a server of its own: it plays the seed that it is sent, and tells how it went. */
const server = await startTestServer()

process.on('message', (wish: Wish) => {
  void play(server, wish).then(
    told => process.send?.(told),
    async (error: unknown) => {
      // Nobody waits for it any more.
      if (!process.connected) return
      await server.stop()
      throw error
    },
  )
})
// Whatever is being played meanwhile is nobody's any more, and may lose its server.
process.on('disconnect', () => {
  process.on('uncaughtException', () => {})
  void server.stop().then(() => process.exit())
})
process.send!('ready')
