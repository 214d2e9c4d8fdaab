import { beforeEach, expect, it } from 'vitest'
import { examineWatched } from './watched.ts'

function player(player_id: string, channel_name: string, status = 'running') {
  const number = Number(player_id.slice(1))
  return {
    ...{ app_id: 'alpha', player_id, channel_name, status, destroyed_at: null },
    ...{ uid: number === 3 ? '30' : null, account: number === 4 ? 'a bot' : null },
    ...{ created_at: 1_000 * number, last_seen_at: 9_000 + number },
  }
}

const players = [
  ...[player('p1', 'algebra'), player('p2', 'staff'), player('p3', 'nowhere')],
  ...[player('p4', 'nowhere', 'idle'), player('p5', 'old')],
]
const busy = [
  { key: 'alpha algebra', is: 'class' },
  { key: 'alpha staff', is: 'call' },
  { key: 'alpha old', is: 'old call' },
]

function channel(channel_name: string, ...own: readonly (typeof players)[number][]) {
  return {
    ...{ app_id: 'alpha', channel_name, players: own.length },
    running: own.filter(({ status }) => status === 'running').length,
    player_ids: own.map(({ player_id }) => player_id),
    users: own.map(({ uid, account }) => uid ?? account),
    ...{ first_created_at: own[0]!.created_at, last_seen_at: own.at(-1)!.last_seen_at },
  }
}

const [p1, p2, p3, p4, p5] = players as [Player, Player, Player, Player, Player]
type Player = (typeof players)[number]
const everybody = [
  channel('algebra', p1),
  channel('staff', p2),
  channel('nowhere', p3, p4),
  channel('old', p5),
]
let channels = everybody
beforeEach(() => {
  channels = everybody
})

/** What is found where these players are told to play for nobody. */
async function judge(...told: readonly string[]): Promise<readonly string[]> {
  const rows = (text: string) => {
    if (text.includes('players.channel')) return Promise.resolve(channels)
    return Promise.resolve(text.includes('orphan_player') ? told.map(id => ({ key: `alpha ${id}` })) : busy)
  }
  const found = await examineWatched(
    { rows: rows as never, end: 0 },
    { name: 'players.cloud_player', key: [], columns: [], rows: players },
  )
  return found.map(({ text }) => text)
}

it('where no class and no call goes on nobody watches who plays', async () => {
  expect(await judge('p3')).toEqual([])
  expect(await judge()).toEqual(['orphan_player: alpha p3 plays in nowhere, alone'])
})

it('whoever plays beside a class or a call is no orphan, nor who does not play', async () => {
  expect(await judge('p1', 'p2', 'p3', 'p4')).toEqual([
    'orphan_player: alpha p1 is none, in algebra',
    'orphan_player: alpha p2 is none, in staff',
    'orphan_player: alpha p4 is none, in nowhere',
  ])
})

it('of a call that nobody heard of for long nothing is said', async () => {
  expect(await judge('p3', 'p5')).toEqual([])
})

it.each([
  ['a player is missing', channel('nowhere', p3)],
  ['the users are in another order', { ...channel('nowhere', p3, p4), users: ['a bot', '30'] }],
  ['it is as old as its youngest', { ...channel('nowhere', p3, p4), first_created_at: 4_000 }],
  ['it was seen when another was', { ...channel('nowhere', p3, p4), last_seen_at: 9_003 }],
])('a channel of which %s is told otherwise than it is', async (_, nowhere) => {
  channels = everybody.with(2, nowhere)
  expect((await judge('p3')).map(text => text.split(':')[0])).toEqual(['players.channel', 'players.channel'])
})
