import type pg from 'pg'
import type { Sandbox } from '../../sandbox/src/index.ts'
import { compareClasses, named, nameOf, type OfClass, type Oracle, rowsOf, withStart } from './oracle.ts'
import { type GivenClass, givenClasses } from './truth.ts'

const ofClassCalls: Oracle = {
  name: 'analytics.class_call: which call is of which class',
  examine: (client, sandbox) =>
    compareClasses<OfClass & { call_id: string }>(
      client,
      sandbox,
      withStart('analytics.class_call'),
      row => row.call_id,
      one => one.calls.map(({ callId }) => callId),
    ),
}

/** Those of which the database knows at all: the others were over, and forgotten, before somebody read. */
async function seenClasses(client: pg.Client, sandbox: Sandbox): Promise<readonly GivenClass[]> {
  const rows = await rowsOf<OfClass>(client, 'select *, started_at as began from classroom.room')
  const names = new Set(rows.map(named))
  return givenClasses(sandbox).filter(({ app, roomUuid, startedAt }) =>
    names.has(nameOf(app, roomUuid, startedAt)),
  )
}

async function idsIn(client: pg.Client, query: string): Promise<ReadonlySet<string>> {
  return new Set((await rowsOf<{ id: string }>(client, query)).map(({ id }) => id))
}

const ofUnseenCalls: Oracle = {
  name: 'analytics.class_call and class_quality: calls of classes that nobody saw belong to none',
  examine: async (client, sandbox) => {
    const stored = await idsIn(client, 'select call_id as id from analytics.call')
    const told = await rowsOf<OfClass & { call_id: string }>(client, withStart('analytics.class_call'))
    const counts = await rowsOf<OfClass & { calls: number }>(client, withStart('analytics.class_quality'))
    const seen = (await seenClasses(client, sandbox)).map(({ app, roomUuid, startedAt, callIds }) => ({
      name: nameOf(app, roomUuid, startedAt),
      calls: callIds.filter(callId => stored.has(callId)),
    }))
    return {
      told: [
        ...told.map(row => `${named(row)} ${row.call_id}`),
        ...counts.map(row => `${named(row)}: ${row.calls}`),
      ].sort(),
      truth: [
        ...seen.flatMap(({ name, calls }) => calls.map(callId => `${name} ${callId}`)),
        ...seen.filter(({ calls }) => calls.length > 0).map(({ name, calls }) => `${name}: ${calls.length}`),
      ].sort(),
    }
  },
}

const ofClassPlayers: Oracle = {
  name: 'players.class_player and class_quality: who played in which class, and not what plays since a class before',
  examine: async (client, sandbox) => {
    const stored = await idsIn(client, 'select player_id as id from players.cloud_player')
    const told = await rowsOf<OfClass & { player_id: string }>(client, withStart('players.class_player'))
    const counts = await rowsOf<OfClass & { cloud_players: number }>(
      client,
      'select *, started_at as began from analytics.class_quality where cloud_players > 0',
    )
    const played = (await seenClasses(client, sandbox)).map(
      ({ app, roomUuid, startedAt, endedAt = Infinity }) => ({
        name: nameOf(app, roomUuid, startedAt),
        ids: sandbox
          .players(app)
          .filter(({ id, channelName, createdAt }) => {
            return stored.has(id) && channelName === roomUuid && startedAt <= createdAt && createdAt < endedAt
          })
          .map(({ id }) => id),
      }),
    )
    return {
      told: [
        ...told.map(row => `${named(row)} ${row.player_id}`),
        ...counts.map(row => `${named(row)}: ${row.cloud_players}`),
      ].sort(),
      truth: [
        ...played.flatMap(({ name, ids }) => ids.map(id => `${name} ${id}`)),
        ...played.filter(({ ids }) => ids.length > 0).map(({ name, ids }) => `${name}: ${ids.length}`),
      ].sort(),
    }
  },
}

/** A call that is bad is bad all the time, any other hardly ever. */
const ofBadClasses: Oracle = {
  name: 'analytics.class_quality: which classes could not be heard',
  examine: (client, sandbox) =>
    compareClasses<OfClass>(
      client,
      sandbox,
      `select *, started_at as began from analytics.class_quality where bad_share > 0.2`,
      () => 'bad',
      one => (one.app === 'dayschool' && one.calls.some(({ isBad }) => isBad) ? ['bad'] : []),
    ),
}

export const channelOracles: readonly Oracle[] = [ofClassCalls, ofUnseenCalls, ofClassPlayers, ofBadClasses]
