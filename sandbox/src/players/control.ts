import type { Sandbox } from '../sandbox.ts'
import type { SandboxApp } from '../stage.ts'

/** The truth about the players of `app`, or of the first app where none is named. */
export function addPlayersControl(app: SandboxApp, sandbox: Sandbox): void {
  app.get('/control/players', context => {
    const id = context.req.query('app') ?? sandbox.settings.apps[0]?.id ?? ''
    if (!sandbox.universe.app(id)) return context.json({ error: 'there is no such app' }, 404)
    return context.json({ players: sandbox.players(id), notices: sandbox.notices(id) })
  })
}
