import type { Notice, TruePlayer } from '../../../sandbox/src/index.ts'
import type { Examination, Finding } from './examination.ts'
import { compareTable, type ExpectedRow, oneOf, Rule, type StoredTable } from './rows.ts'

/** Who sends one waits so long for its answer, ms. */
const longestWait = 10_000
/** A notification has the players listed within this, ms: other pages of the same lists may be ahead. */
const soon = 15_000
/** So many pages in the minute before may have been all that the provider allows, or that the daemon dares to ask. */
const manyPages = 8
const minute = 60_000
/** Who was turned away stays away for a minute, which chance makes longer by half, ms. */
const turnedAway = 1.5 * minute

/** Every notification that was accepted is kept once and as it was told, and none that was not sent. */
export function examineNotices(
  { sandbox, apps, end, rewound = [] }: Examination,
  notifications: StoredTable,
): readonly Finding[] {
  const expected = new Map<string, ExpectedRow>()
  const isLost = (at: number) => rewound.some(({ from, to }) => from - longestWait <= at && at <= to)
  for (const { id: app } of apps) {
    const players = new Map(sandbox.players(app).map(player => [player.id, player]))
    for (const notice of sandbox.notices(app)) {
      if (notice.sentAt.length === 0 || notice.isStrange) continue
      const { noticeId, eventType, playerId, sentAt, outcome } = notice
      expected.set(`${app} ${noticeId}`, {
        isDue: outcome === 'delivered' && !sentAt.some(isLost),
        cells: {
          event_type: eventType,
          player_id: playerId,
          notified_at: oneOf(sentAt),
          received_at: new Rule('after it was sent', (value, { notified_at }) => {
            return Number(value) >= Number(notified_at) && Number(value) <= end
          }),
          payload: payloadOf(notice, players.get(playerId)!),
        },
      })
    }
  }
  return compareTable(notifications, expected)
}

interface Letter {
  readonly app: string
  readonly body: string
  readonly reason: string
}

/**
 * What is signed and nobody can read is set aside as it came, but for its secrets, each time that it comes; and nothing else is
 * set aside of notifications. Where all that was sent arrived and nobody died of it, none is missing.
 */
export async function examineStrange(examination: Examination): Promise<readonly Finding[]> {
  const { rows, sandbox, apps, isCalm, isUnbroken, faults } = examination
  // Lists that are broken are set aside there too.
  if (sandbox.settings.quirks.strangeNotice === 0 || faults.length > 0) return []
  const stored = await rows<Letter>(
    `select app_id as app, convert_from(body, 'UTF8') as body, reason from ingest.dead_letter where stream = 'cloud-players'`,
  )
  return apps.flatMap(({ id }) => {
    const strange = sandbox.notices(id).filter(({ isStrange, sentAt }) => isStrange && sentAt.length > 0)
    const sent = new Set(strange.flatMap(({ bodies }) => bodies.map(asKept)))
    const own = stored.filter(({ app }) => app === id)
    const kept = new Set(own.map(({ body }) => body))
    const accepted = strange.filter(({ outcome, bodies }) => outcome === 'delivered' && bodies.length === 1)
    const due = isCalm && isUnbroken ? sent : new Set(accepted.map(({ bodies: [body] }) => asKept(body!)))
    const refused = isCalm && isUnbroken ? strange.filter(({ outcome }) => outcome === 'given-up') : []
    return [
      ...refused.map(
        ({ noticeId }) =>
          ({
            kind: 'owed',
            text: `notification ${noticeId} of ${id}: set aside, and asked for again`,
          }) as const,
      ),
      ...own
        .filter(({ body, reason }) => reason !== 'malformed' || !sent.has(body))
        .map(
          ({ body }) =>
            ({ kind: 'different', text: `a dead letter of ${id} that was not sent so: ${body}` }) as const,
        ),
      ...(own.length > kept.size
        ? [{ kind: 'duplicate', text: `a dead letter of a notification of ${id}` } as const]
        : []),
      ...[...due.difference(kept)].map(
        body => ({ kind: 'lost', text: `a dead letter of a notification of ${id}: ${body}` }) as const,
      ),
    ]
  })
}

/** Without the token of the player, and what is secret in the address of what it plays. */
function asKept(body: string): string {
  return body
    .replace(/("token":")[^"]*/, '$1[redacted]')
    .replace(/("streamUrl":")([^"]*)/, (_, name: string, address: string) => name + withoutSecrets(address))
}

/** A notification that was accepted makes the list due; who stood still or was told to stay away may be late. */
export function examineHeed({
  sandbox,
  apps,
  askers = [],
  end,
  faults,
  isCalm,
}: Examination): readonly Finding[] {
  if (!isCalm || faults.length > 0 || askers.length !== 1) return []
  const { arrivals } = sandbox
  const lists = arrivals.list(0, arrivals.count).filter(({ operation }) => operation === listing)
  return apps.flatMap(({ id }) => {
    const own = lists.filter(({ app }) => app === id)
    const times = own.map(({ time }) => time)
    const refused = own.filter(({ status }) => status !== 200).map(({ time }) => time)
    const isWithin = (from: number, to: number) => (time: number) => from < time && time <= to
    const unheard = sandbox.notices(id).find(({ outcome, sentAt: [at = end] }) => {
      const isBusy = times.filter(isWithin(at - minute, at)).length >= manyPages
      const isAway = refused.some(isWithin(at - turnedAway, at + soon))
      const isHeard = times.some(isWithin(at, at + soon))
      return outcome === 'delivered' && at + soon < end && !isBusy && !isAway && !isHeard
    })
    if (!unheard) return []
    const text = `notification ${unheard.noticeId} of ${id}, sent at ${unheard.sentAt[0]}: no list of players was asked for after it`
    return [{ kind: 'owed', text }]
  })
}

const listing = 'listPlayers'

/** Users, passwords and the values of a query are replaced by a mark. */
export function withoutSecrets(address: string): string {
  return address.replace(/\/\/[^/?#]*@/, '//[redacted]@').replace(/([?&][^=&#]+=)[^&#]*/g, '$1[redacted]')
}

const reasons = {
  deleted: 'Delete Request',
  'idle-timeout': 'Idle Timeout',
  'server-error': 'Internal Error',
} as const
const destroyed = 3

/** The player as it was then, its token hidden. */
function payloadOf({ at, eventType }: Notice, player: TruePlayer): object {
  const { id, name, uid, account, channelName, streamUrl, createdAt, changes, reason } = player
  const status = changes.findLast(change => change.at <= at)?.status
  return {
    player: {
      ...{ id, name: name ?? null, uid, account, channelName, streamUrl: withoutSecrets(streamUrl) },
      ...{ token: '[redacted]', createTs: Math.floor(createdAt / 1_000), status },
    },
    lts: at,
    ...(eventType === destroyed && reason && { destroyReason: reasons[reason] }),
  }
}
