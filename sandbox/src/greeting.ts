import { callSearch } from '../../src/provider/analytics/index.ts'
import { appEvents } from '../../src/provider/classroom/index.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { listPlayers } from '../../src/provider/players/index.ts'
import type { Sandbox } from './sandbox.ts'

/** What a person who has started it may try. */
export function greeting(
  { settings, universe }: Sandbox,
  url: string,
  { profile, notify }: { readonly profile: string; readonly notify?: string },
): readonly string[] {
  const { tokenHeader, uidHeader, seed, speed } = settings
  const [app] = settings.apps
  if (!app?.rest) throw new Error('the played app has no credential')
  const { key, secret } = app.rest
  const { target } = requestLine(appEvents, { region: 'ap', appId: app.id })
  const end = Math.floor(universe.now() / 1_000) - 120
  const search = requestLine(callSearch, { appid: app.id, start_ts: end - 3_600, end_ts: end })
  const list = requestLine(listPlayers, { appId: app.id })
  return [
    `the sandbox plays the provider at ${url} (profile ${profile}, seed ${seed}, speed ${speed})`,
    `app ${app.id}, user ID ${app.uid}, token ${app.token}, in any region`,
    `call analytics of the plan ${app.plan}, and cloud players: key ${key}, secret ${secret}`,
    ...(notify === undefined
      ? []
      : [`notifications go to ${notify}, signed with ${app.notifications?.secret}`]),
    '',
    'try',
    `  curl -H '${uidHeader}: ${app.uid}' -H '${tokenHeader}: ${app.token}' ${url}${target}`,
    `  curl -u ${key}:${secret} '${url}${search.target}'`,
    `  curl -u ${key}:${secret} ${url}${list.target}`,
    `  curl ${url}/control/status`,
    'and what really happened',
    `  curl ${url}/control/truth`,
    `  curl ${url}/control/players`,
    '',
    'Ctrl-C ends it.',
  ]
}
