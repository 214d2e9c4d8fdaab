import {
  type AnalyticsGroup,
  analyticsGroups,
  analyticsLimits,
  defaultParameterNames,
} from '../provider/analytics/index.ts'
import { isObject } from '../provider/fits.ts'
import { type Family, families, isLoopback } from '../provider/operation.ts'
import { formatSeconds } from '../settings/values.ts'
import { paceOf, type Said } from '../streams/parts/cadence.ts'
import type { Stream } from '../streams/stream.ts'
import { credentialsOf, isDrained, services } from './availability.ts'
import type { AppConfig, Config } from './config.ts'
import { allowanceOf, missingFrom } from './limits.ts'
import type { Path, Problem } from './problem.ts'
import type { Environment } from './syntax.ts'
import { type Tree, valueAt } from './tree.ts'

type Settled = Omit<Config, 'warnings'>

/** Something wrong that no single value can be blamed for, and the keys that it may have come from, likeliest first. */
interface Mistake {
  readonly keys: readonly Path[]
  readonly text: string
}

/**
 * What cannot be right once all layers are laid over each other and the plan is known. What the whole file says wrongly
 * is told once, however many apps it holds for.
 */
export function checkRules(config: Settled, tree: Tree, env: Environment): readonly Problem[] {
  const mistakes = [
    ...unencrypted(config),
    ...repeatedApps(config, tree),
    ...streamsInVain(config, tree),
    ...sectionsInVain(config),
    ...alike(config),
    ...headersTaken(config),
    ...listeningTwice(config),
    ...forgottenTooSoon(config),
    ...config.apps.flatMap((app, i) => [
      ...parentsOff(config, app, i),
      ...analyticsGroups.flatMap(group => groupMistakes(config, app, i, group, tree)),
      ...Object.values(config.streams).flatMap(stream => streamMistakes(config, app, i, stream)),
    ]),
  ]
  const found = mistakes.map(({ keys, text }): Problem => {
    const path = keys.find(key => tree.holds(key)) ?? keys.at(-1)!
    return { path, at: tree.keyOf(path), text }
  })
  const told = new Map(found.map(problem => [JSON.stringify([problem.path, problem.text]), problem]))
  return [...told.values(), ...certificates(env)]
}

function certificates(env: Environment): readonly Problem[] {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return []
  const text =
    'the environment variable NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates; unset it'
  return [{ path: [], at: undefined, text }]
}

/** Credentials must not cross a network unencrypted unless someone said that they may. */
function unencrypted({ provider }: Settled): readonly Mistake[] {
  const text =
    'http:// to another machine would send credentials unencrypted; use https://, or set insecure: true beside it'
  return families.flatMap(name => {
    const { url, insecure } = provider[name] ?? { url: '', insecure: true }
    const isOpen = !insecure && url.startsWith('http:') && !isLoopback(new URL(url).hostname)
    return isOpen ? [{ keys: [['provider', name, 'url']], text }] : []
  })
}

function repeatedApps({ apps }: Settled, tree: Tree): readonly Mistake[] {
  const first = new Map(apps.map(({ id }, i) => [id, i] as const).toReversed())
  return apps.flatMap(({ id }, i) => {
    const earlier = first.get(id)!
    if (earlier === i) return []
    const line = tree.keyOf(['apps', earlier, 'id'])?.line
    const text = `the same app is already listed as apps[${earlier}], at line ${line}`
    return [{ keys: [['apps', i, 'id']], text }]
  })
}

/** Settings of a stream say that it is wanted: without an address and credentials it cannot be drained. */
function streamsInVain({ provider, apps, streams }: Settled, tree: Tree): readonly Mistake[] {
  const layers = [{ base: [], users: apps }, ...apps.map((app, i) => ({ base: ['apps', i], users: [app] }))]
  return layers.flatMap(({ base, users }) =>
    Object.values(streams).flatMap(({ name, operation: { family } }) => {
      const path = [...base, 'streams', name]
      const { section, keys } = services[family]
      if (!isObject(valueAt(tree, path)) || (provider[family] && users.some(app => app[section]))) return []
      const credentials =
        base.length > 0
          ? `apps[${base[1]}].${section} with ${keys.join(' and ')}; give it`
          : `${credentialsOf(family)}, and no app has them; give them`
      const need = provider[family] ? credentials : `provider.${family}.url; give it`
      return [{ keys: [path], text: `needs ${need}, or leave this stream out` }]
    }),
  )
}

/** A day of values goes when all of it is old enough. */
const PARTITION = 86_400

/** A call is summed up by the values that lie there when its last ones come. */
function forgottenTooSoon({ provider, apps, streams, retention }: Settled): readonly Mistake[] {
  const samples = retention.session_series
  const stream = streams['call-metrics']
  if (typeof samples !== 'number' || !stream || !provider.analytics) return []
  const reaches = apps
    .filter(app => app.rest && app.streams[stream.name] !== 'off')
    .map(app => allowanceOf(app, stream.operation.limitGroup)?.availableData ?? 0)
  const least = Math.max(0, ...reaches) + PARTITION
  if (reaches.length === 0 || samples >= least * 1_000) return []
  const text = `must be ${formatSeconds(least)} or more: so long the values of a call may come, and one that comes later than others would be summed up without them`
  return [{ keys: [['retention', 'samples']], text }]
}

function sectionsInVain({ provider, apps }: Settled): readonly Mistake[] {
  const needs = (service: Family, what: string) =>
    `needs provider.${service}.url; give it, or leave this ${what} out`
  return apps.flatMap(({ rooms, notifications }, i) => [
    ...(rooms.length > 0 && !provider.classroom
      ? [{ keys: [['apps', i, 'rooms']], text: needs('classroom', 'list') }]
      : []),
    ...(notifications && !provider.players
      ? [{ keys: [['apps', i, 'notifications']], text: needs('players', 'section') }]
      : []),
  ])
}

/** Streams that are off, and that others need which are on. */
function parentsOff({ provider, streams }: Settled, app: AppConfig, i: number): readonly Mistake[] {
  const isOff = (name: string) => app.streams[name] === 'off'
  const served = Object.values(streams).filter(({ operation }) => provider[operation.family])
  return served.flatMap(({ name }) => {
    const orphans = served.filter(stream => stream.needs?.includes(name) && !isOff(stream.name))
    if (!isOff(name) || orphans.length === 0) return []
    const names = orphans.map(stream => stream.name).join(', ')
    const need = orphans.length === 1 ? 'needs' : 'need'
    const text = `is off, but ${names} ${need} it; leave it on, or switch them off as well`
    return [{ keys: saidBy(i, [['streams', name]]), text }]
  })
}

function streamMistakes(config: Settled, app: AppConfig, i: number, stream: Stream): readonly Mistake[] {
  const { name, operation } = stream
  const settings = app.streams[name]
  if (settings === undefined || settings === 'off') return []
  const allowed = isDrained(config, app, name) ? allowanceOf(app, operation.limitGroup) : undefined
  const isOpen = allowed && allowed.availableData > allowed.dataDelay
  const roomMemory = config.provider.classroom?.roomMemory ?? Number.POSITIVE_INFINITY
  const before = (stream.needs ?? []).reduce((sum, need) => sum + pauseIn(app.streams[need]), 0)
  const mistakes = stream.mistakes?.(settings, isOpen ? allowed : undefined, { roomMemory, before }) ?? []
  return mistakes.map(({ settings, limit, text }) => ({
    keys: saidBy(i, [
      ...settings.map(key => ['streams', name, key]),
      ...(limit ? [['limits', operation.limitGroup, ...(limit === 'any' ? [] : [limit])]] : []),
      ['streams', name],
    ]),
    text,
  }))
}

/** How long what a stream of these settings brings may have waited for it, ms. */
function pauseIn(settings: object | 'off' | undefined): number {
  const said: Partial<Said> = settings === 'off' ? {} : (settings ?? {})
  return paceOf({ every: 0, ...said }).every
}

function groupMistakes(
  { apps }: Settled,
  app: AppConfig,
  i: number,
  group: AnalyticsGroup,
  tree: Tree,
): readonly Mistake[] {
  const allowance = allowanceOf(app, group)
  const key: Path = ['limits', group]
  if (allowance) {
    if (allowance.availableData > allowance.dataDelay) return []
    const [availableData, dataDelay] = [allowance.availableData, allowance.dataDelay].map(formatSeconds)
    const text = `availableData (${availableData}) must be longer than dataDelay (${dataDelay}): as it is, nothing can ever be asked for`
    return [{ keys: saidBy(i, [[...key, 'availableData'], [...key, 'dataDelay'], key]), text }]
  }
  const hasAccess = ({ plan }: AppConfig) => analyticsLimits[group][plan] !== undefined
  const isMeant = tree.holds(['apps', i, ...key]) || (tree.holds(key) && !apps.some(hasAccess))
  if (!isMeant) return []
  const missing = missingFrom(app.limits[group]!, group).join(', ')
  const text = `the plan ${app.plan} has no access to this group; if yours has, say ${missing} as well`
  return [{ keys: saidBy(i, [key]), text }]
}

/** The app's own word stands before that of the file. */
function saidBy(app: number, keys: readonly Path[]): readonly Path[] {
  return [...keys.flatMap(key => [['apps', app, ...key], key]), ['apps', app]]
}

/** Headers that requests have for another purpose: what came under the same name would be written over. */
const usedHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'],
  ...['transfer-encoding', 'user-agent', 'x-request-id'],
])

function headersTaken({ provider: { classroom } }: Settled): readonly Mistake[] {
  const { tokenHeader = '', uidHeader = '' } = classroom ?? {}
  return Object.entries({ tokenHeader, uidHeader })
    .filter(([, name]) => usedHeaders.has(name.toLowerCase()))
    .map(([key, name]) => ({
      keys: [['provider', 'classroom', key]],
      text: `${name} says something else in each request; the credential would not be sent`,
    }))
}

/** Addresses that stand for all of a machine. */
const anyHost: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** A port serves the endpoints or the notifications. */
function listeningTwice({ http, notifications, apps }: Settled): readonly Mistake[] {
  const [one, other] = [http.listen, notifications.listen]
  const isTogether = one.host === other.host || anyHost.has(one.host) || anyHost.has(other.host)
  const isTwice = one.port !== 0 && one.port === other.port && isTogether
  if (!isTwice || !apps.some(app => app.notifications)) return []
  const [keys, text] = [
    [
      ['notifications', 'listen'],
      ['http', 'listen'],
    ],
    'http.listen and notifications.listen are the same port; each needs one of its own',
  ]
  return [{ keys, text }]
}

/** Names or words of a deployment that stand in one request, so that two which are alike would corrupt it. */
function alike({ provider: { classroom, analytics, players } }: Settled): readonly Mistake[] {
  const { tokenHeader = '', uidHeader = '-' } = classroom ?? {}
  // Names of headers differ in more than case.
  const headers = { tokenHeader: tokenHeader.toLowerCase(), uidHeader: uidHeader.toLowerCase() }
  const { signatureHeader = '', signatureHeaderV2 = '-' } = players ?? {}
  const signatures = {
    signatureHeader: signatureHeader.toLowerCase(),
    signatureHeaderV2: signatureHeaderV2.toLowerCase(),
  }
  const { parameters = {}, granularities = {} } = analytics ?? {}
  return [
    ...alikeOf(['provider', 'classroom'], headers),
    ...alikeOf(['provider', 'players'], signatures, 'signatures could not be told apart'),
    ...alikeOf(['provider', 'analytics', 'parameters'], parameters),
    ...alikeOf(['provider', 'analytics', 'granularities'], granularities),
    ...mistaken(['provider', 'analytics', 'granularities'], granularities),
  ]
}

/** Of two, the one that the file says is wrong; where it says both, the latter. */
function alikeOf(
  path: Path,
  words: Readonly<Record<string, string>>,
  harm = 'requests would be wrong',
): readonly Mistake[] {
  return [...Map.groupBy(Object.keys(words), key => words[key])].flatMap(([, keys]) =>
    keys.length === 1
      ? []
      : [
          {
            keys: keys.toReversed().map(key => [...path, key]),
            text: `${keys.join(' and ')} are the same; each must have a name of its own, or ${harm}`,
          },
        ],
  )
}

/** What is known to mean something else than its key says. */
function mistaken(path: Path, words: Readonly<Record<string, string>>): readonly Mistake[] {
  const known = Object.entries(defaultParameterNames.granularities)
  return Object.entries(words).flatMap(([key, word]) => {
    const [meant] =
      known.find(([other, usual]) => other !== key && usual === word && words[other] !== word) ?? []
    const text = `is the word for ${meant}; the values would be stored as what they are not`
    return meant === undefined ? [] : [{ keys: [[...path, key]], text }]
  })
}
