import { befalls, hashOf } from '../hash.ts'
import { type Player, statusOf, toldCreateTs } from './player.ts'
import { invalid } from './refusals.ts'
import type { Action, PlayerContext } from './visit.ts'

const mostOnPage = 500
const usualOnPage = 200

/** Of the entries, where some are thin. */
const thinShare = 0.5

/** What an entry carries when it is whole; an account only where the player has one. */
const mask = ['name', 'streamUrl', 'channelName', 'uid', 'id', 'createTs', 'status'] as const

/** Reads a List. Throws 400. */
export function readList(context: PlayerContext): Action {
  const { query } = context.request
  const filter = query.get('filter')
  const channel = filter === null ? undefined : /^channelName eq (.+)$/s.exec(filter)?.[1]
  if (filter !== null && channel === undefined) throw invalid('filter')
  const size = Math.min(readSize(query.get('pageSize')), context.settings.switches.playersPerPage)
  const after = readToken(query.get('pageToken'), filter)
  return ({ loops, slips = false }) => {
    const listed = visibleIn(context).filter(player => (channel ?? player.channelName) === player.channelName)
    const rest = listed.filter(({ number }) => number > after)
    const before = slips ? listed.findLast(({ number }) => number <= after) : undefined
    const page = before ? [before, ...rest.slice(1, size)] : rest.slice(0, size)
    const last = loops ? after : page.at(-1)?.number
    const isEnd = !loops && rest.length <= size
    return {
      body: {
        totalSize: listed.length,
        players: page.map(player => entry(player, context)),
        fields: page.some(({ account }) => account !== undefined)
          ? [...mask, 'account'].join(',')
          : mask.join(','),
        nextPageToken: isEnd ? '' : token(last ?? after, filter),
      },
    }
  }
}

/** Of the seconds in which a new one may be missing, where it is there at times. */
const blindShare = 0.5

/** In the order of creation; new ones are not there yet, or not always. */
function visibleIn({ world, settings, now }: PlayerContext): readonly Player[] {
  const { seed, switches } = settings
  const blind = switches.listBlindSeconds * 1_000
  const isAtTimes = switches.listBlind === 'at-times'
  return world.players.live.filter(({ id, createdAt }) => {
    if (createdAt + blind <= now) return true
    return isAtTimes && !befalls(blindShare, seed, id, 'blind', Math.floor(now / 1_000))
  })
}

function entry(player: Player, { settings, now }: PlayerContext): object {
  const { id, name = null, streamUrl, channelName, uid, account } = player
  const { seed, switches } = settings
  const thin = { id, name, createTs: toldCreateTs(player, switches) }
  if (switches.playerList === 'thin' && befalls(thinShare, seed, id, Math.floor(now / 1_000))) return thin
  return { ...thin, streamUrl, channelName, uid, account, status: statusOf(player) }
}

function readSize(text: string | null): number {
  if (text === null) return usualOnPage
  const size = Number(text)
  if (!/^\d{1,3}$/.test(text) || size < 1 || size > mostOnPage) throw invalid('pageSize')
  return size
}

/** Tells behind which player a page begins; it fits its own filter alone. */
function token(number: number, filter: string | null): string {
  return Buffer.from(`${number}.${hashOf('page', number, filter ?? '')}`).toString('base64url')
}

function readToken(text: string | null, filter: string | null): number {
  if (text === null) return 0
  const number = Number.parseInt(Buffer.from(text, 'base64url').toString(), 10)
  if (!(number >= 0) || token(number, filter) !== text) throw invalid('pageToken')
  return number
}
