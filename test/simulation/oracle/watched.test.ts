import { beforeEach, expect, it } from 'vitest'
import { examineWatched } from './watched.ts'

function player(player_id: string, channel_name: string, status = 'running') {
  return { app_id: 'alpha', player_id, channel_name, status, destroyed_at: null }
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

const everybody = [
  'alpha algebra 1 1 p1',
  'alpha staff 1 1 p2',
  'alpha nowhere 2 1 p3,p4',
  'alpha old 1 1 p5',
]
let channels = everybody
beforeEach(() => {
  channels = everybody
})

/** What is found where these players are told to play for nobody. */
async function judge(...told: readonly string[]): Promise<readonly string[]> {
  const rows = (text: string) => {
    if (text.includes('players.channel')) return Promise.resolve(channels.map(said => ({ said })))
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

it('each channel is told with all who live in it, and how many of them play', async () => {
  channels = [...everybody.slice(0, 2), 'alpha nowhere 1 1 p3', ...everybody.slice(3)]
  expect(await judge('p3')).toEqual([
    'players.channel: alpha nowhere 1 1 p3',
    'players.channel: alpha nowhere 2 1 p3,p4',
  ])
})
