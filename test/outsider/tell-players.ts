import { type Inner, Refusal } from './app.ts'
import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'
import type { Player } from './world.ts'

export function tellPlayers(
  reading: Reading,
  players: readonly Player[],
  act: number,
  params: URLSearchParams,
): Told {
  const wanted = Number(params.get('pageSize') ?? 200)
  const size = reading.playersPage === 'all' ? wanted : Math.min(2, wanted)
  const from = Number((params.get('pageToken') ?? '=0').split('=')[1])
  const alive = players.filter(({ status }) => status[act > 0 ? 1 : 0] !== undefined)
  const isLast = from + size >= alive.length
  const end = { 'empty string': '', absent: undefined, null: null }[reading.playersEnd]
  return {
    totalSize: alive.length,
    players: alive.slice(from, from + size).map(player => tellPlayer(reading, player, act)),
    fields: 'name,streamUrl,channelName,uid,id,createTs,status',
    nextPageToken: isLast ? end : `+/?&=${from + size}`,
  }
}

const plantedParts = ['planted-user:planted-password@', '?token=planted-token']

function tellPlayer(
  reading: Reading,
  { id, name, uid, created, channel, status }: Player,
  act: number,
): Told {
  const thin = { id, name, createTs: created }
  const [before, after] = reading.streamUrl === 'plain' ? ['', ''] : plantedParts
  const full = {
    ...thin,
    streamUrl: `rtmp://${before}media.example.com/live${after}`,
    channelName: channel,
    status: status[act > 0 ? 1 : 0],
  }
  switch (reading.playersEntry) {
    case 'thin':
      return thin
    case 'full':
      return { ...full, uid }
    case 'with account':
      return { ...full, account: `account ${uid}` }
  }
}

/** All there are, oldest first. */
export function playersOf({ world, made, deleted }: Inner): readonly Player[] {
  return [...world.players, ...made].filter(({ id }) => !deleted.has(id))
}

export function createPlayer({ plan, made }: Inner, region: string, body: Told, at: number): Told {
  const { name, uid, channelName, streamUrl } = body
  if (typeof streamUrl !== 'string' || typeof channelName !== 'string' || typeof uid !== 'number')
    throw new Refusal(400, { message: 'Bad Request' })
  const id = `${plan.id}-made-${made.length + 1}`
  const created = Math.floor(at / 1000)
  made.push({
    ...{ id, uid, created, region, channel: channelName, status: ['running', 'running'] },
    name: typeof name === 'string' ? name : null,
  })
  return { player: { uid, id, createTs: created, status: 'connecting' }, fields: 'player.uid,player.id' }
}

/** A player is found in the region in which it was made, and nowhere else. */
export function deletePlayer(app: Inner, region: string, id: string): Told {
  const home = app.made.find(player => player.id === id)?.region ?? 'ap'
  const lives = playersOf(app).some(player => player.id === id)
  if (region !== home || !lives) throw new Refusal(404, { message: 'Resource is not found and destroyed.' })
  app.deleted.add(id)
  throw new Refusal(204)
}
