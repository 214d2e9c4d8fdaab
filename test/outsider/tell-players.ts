import type { Reading } from './readings.ts'
import type { Told } from './tell-classroom.ts'
import type { Player, World } from './world.ts'

export function tellPlayers(
  reading: Reading,
  { app, players }: World,
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
    players: alive.slice(from, from + size).map(player => tellPlayer(reading, app, player, act)),
    fields: 'name,streamUrl,channelName,uid,id,createTs,status',
    nextPageToken: isLast ? end : `+/?&=${from + size}`,
  }
}

function tellPlayer(
  reading: Reading,
  app: string,
  { id, name, uid, created, status }: Player,
  act: number,
): Told {
  const thin = { id, name, createTs: created }
  const full = {
    ...thin,
    streamUrl: 'rtmp://media.example.com/live',
    channelName: `${app}-quiet`,
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
