import { goesOn } from '../calls.ts'
import type { Switches } from '../switches.ts'
import { readDraft } from './draft.ts'
import { type Draft, type Player, statusOf, toldCreateTs } from './player.ts'
import { invalid, overQuota, sameName, taken } from './refusals.ts'
import { readRegion } from './region.ts'
import type { Action, PlayerContext } from './visit.ts'

/** Reads a Create. Throws 400. */
export function readCreate(context: PlayerContext): Action {
  const { request, app, world, settings, now } = context
  const region = readRegion(request)
  const streamIp = request.query.get('streamIp')
  if (streamIp !== null && !isAddress(streamIp)) throw invalid('streamIp')
  if (!/^application\/json\b/i.test(request.contentType ?? '')) throw invalid('Content-Type')
  const draft = readDraft(request.body, { region, app, now: Math.floor(now / 1_000) })
  return () => {
    const { players } = world
    const namesake = draft.name === undefined ? undefined : players.named(draft.name)
    if (namesake) throw sameName(namesake.id)
    if (players.liveCount >= settings.switches.playerQuota) throw overQuota(settings.switches)
    const users = usersIn(context, draft.channelName)
    refuseTaken(draft, players.in(draft.channelName), users)
    const player = players.create(draft, users, now)
    return { body: created(player, settings.switches), resourceId: player.id }
  }
}

function created(player: Player, switches: Switches): object {
  const { uid, account, id } = player
  const shown = {
    ...(uid !== undefined && { uid }),
    ...(account !== undefined && { account }),
    ...{ id, createTs: toldCreateTs(player, switches), status: statusOf(player) },
  }
  return { player: shown, fields: Object.keys(shown).join(',') }
}

/** IDs of the people and recorders who are in the channel now. */
function usersIn({ world, now }: PlayerContext, channelName: string): ReadonlySet<number> {
  const uids = new Set<number>()
  for (const call of world.calls.during(now, now)) {
    if (call.cname !== channelName || !goesOn(call, now, now)) continue
    for (const { uid, joinedAt, leftAt = Number.POSITIVE_INFINITY } of call.sessions) {
      if (joinedAt <= now && leftAt > now) uids.add(uid)
    }
  }
  return uids
}

function refuseTaken({ uid, account }: Draft, others: readonly Player[], users: ReadonlySet<number>): void {
  const isUidTaken = uid !== undefined && (users.has(uid) || others.some(other => other.uid === uid))
  if (isUidTaken) throw taken('uid')
  if (account !== undefined && others.some(other => other.account === account)) throw taken('account')
}

function isAddress(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every(part => /^\d{1,3}$/.test(part) && Number(part) <= 255)
}
