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
      if (notice.sentAt.length === 0) continue
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
