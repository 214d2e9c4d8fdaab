import { expect, it } from 'vitest'
import { examineClassPlayers } from './class-players.ts'
import type { TrueRoom } from './classroom-truth.ts'
import type { Row, StoredSchema } from './rows.ts'

const minute = 60_000
const begins = 1_000 * minute

/** Two classes of one room, of an hour each and two hours from begin to begin, and a player ten minutes after each begin. */
const lives = [1, 2].map(stored => {
  const openedAt = begins + (stored - 1) * 120 * minute
  return { app: 'a', roomUuid: 'r', stored, openedAt, endedAt: openedAt + 60 * minute }
}) as unknown as readonly TrueRoom[]
const rooms = lives.map(({ openedAt, endedAt, stored }, n) => ({
  ...{ app_id: 'a', room_uuid: 'r', incarnation: stored, valid_from: openedAt },
  ...{ valid_to: lives[n + 1]?.openedAt ?? null, last_event_at: endedAt },
}))
const stored = new Map([['room', { rows: rooms }]]) as unknown as StoredSchema

function player(player_id: string, at: number, channel_name = 'r'): Row {
  return {
    ...{ app_id: 'a', player_id, channel_name, name: null, stream_url: 'rtmp://x', status: 'running' },
    ...{ created_at: begins + at * minute, destroyed_at: null },
  }
}

const players = [player('p1', 10), player('p2', 130), player('p3', 300), player('p4', 10, 'staff')]
const ofClass = ({ channel_name, ...row }: Row, incarnation: number): Row => ({
  ...{ ...row, room_uuid: channel_name, incarnation },
})
const right = [ofClass(players[0]!, 1), ofClass(players[1]!, 2)]

/** What is found where these are told. */
async function judge(told: readonly Row[]): Promise<readonly string[]> {
  const table = { name: 'players.cloud_player', key: [], columns: [], rows: players }
  const examination = { rows: async () => told as never, end: begins + 400 * minute }
  return (await examineClassPlayers(examination, lives, stored, table)).map(
    ({ kind, text }) => `${kind}: ${text}`,
  )
}

it('a player is of the class in which it was created, or of none', async () => {
  expect(await judge(right)).toEqual([])
})

it.each([
  ['the latest class', [ofClass(players[0]!, 2), right[1]!], 'is not of r 2 but of 1'],
  ['no class', [right[1]!], 'lost: class_player: ["a","p1"] of r 1'],
  ['a class that was over long before', [...right, ofClass(players[2]!, 2)], '["a","p3"] is of no class'],
  ['two classes', [...right, ofClass(players[0]!, 2)], 'is of 2 classes'],
  ['a class in another room', [{ ...right[0]!, room_uuid: 's' }, right[1]!], 'is not of s'],
  [
    'a class, with another status',
    [{ ...right[0]!, status: 'idle' }, right[1]!],
    'status: idle is not running',
  ],
])('a player that is told to be of %s is found', async (_, told, text) => {
  expect((await judge(told)).join('; ')).toContain(text)
})
