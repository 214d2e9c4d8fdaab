import { once } from 'node:events'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../src/postgres/connect.ts'
import { type ApiStage, createPlayer, openApiStage } from './api-stage.ts'
import { launch } from './penstock.ts'

let stage: ApiStage
let pool: pg.Pool

/** The provider counts what every test sends, so each has one of its own, and a ledger that begins with it. */
beforeEach(async () => {
  stage = await openApiStage({ profile: { kind: 'idle', rooms: 2 }, switches: { playerFailRate: 0 } })
  const session = { statementTimeout: 10_000, lockTimeout: 5_000, role: '' }
  pool = connect({ url: stage.database.url, poolSize: 1, ...session })
})

afterEach(async () => {
  await pool.end()
  await stage.close()
})

describe('players by hand', () => {
  test('a name that is taken prints the player that has it', async () => {
    const { stdout: first } = await stage.api([...createPlayer('taken'), '--json'])
    const { id } = JSON.parse(first).player
    const { code, stdout, stderr } = await stage.api([...createPlayer('taken'), '--json'])
    expect(code).toBe(5)
    expect(JSON.parse(stdout).existing.id).toBe(id)
    expect(JSON.parse(stderr).error).toMatchObject({ kind: 'conflict', status: 409, resourceId: id })
  })

  test('too many players are no rate', async () => {
    const quota = await openApiStage({ profile: { kind: 'idle', rooms: 1 }, switches: { playerQuota: 0 } })
    try {
      const { code, stderr } = await quota.api([...createPlayer('many'), '--json'])
      expect(code).toBe(7)
      expect(JSON.parse(stderr).error).toMatchObject({ kind: 'quota' })
    } finally {
      await quota.close()
    }
  })

  test('a Create without an answer is told step by step and found again by its name', async () => {
    stage.sandbox.faults.set([{ kind: 'status-after-acting', operation: 'createPlayer', at: [1] }])
    const words = createPlayer('unanswered')
    const { code, stdout, stderr } = await stage.api([...words, '--json'])
    expect(code).toBe(0)
    const truth = stage.sandbox.players('demo').filter(({ name }) => name === 'unanswered')
    expect(JSON.parse(stdout)).toMatchObject({
      player: { id: truth[0]!.id },
      name: 'unanswered',
      adopted: true,
    })
    expect(truth).toHaveLength(1)
    expect(JSON.parse(stderr).note.text).toMatch(/attempt 1: .*HTTP 504.*\(request .*\); looking in 12 s/)
    const { rows } = await pool.query('select name, state, player_id, attempts from ingest.intent')
    expect(rows).toEqual([{ name: 'unanswered', state: 'done', player_id: truth[0]!.id, attempts: 1 }])
  })

  test('a command that was killed before it knew is taken up by the next one of the same name', async () => {
    stage.sandbox.faults.set([{ kind: 'status-after-acting', operation: 'createPlayer', at: [1] }])
    const words = createPlayer('killed')
    const first = launch(['api', ...words, '--config', stage.config])
    const [said] = await once(first.process.stderr!, 'data')
    expect(String(said)).toMatch(/looking in 12 s/)
    first.process.kill('SIGKILL')
    await first.ended
    const open = await pool.query('select state, attempts, player_id from ingest.intent')
    expect(open.rows).toEqual([{ state: 'open', attempts: 1, player_id: null }])
    const { code, stdout } = await stage.api([...words, '--json'])
    const truth = stage.sandbox.players('demo').filter(({ name }) => name === 'killed')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ player: { id: truth[0]!.id }, adopted: true })
    expect(truth).toHaveLength(1)
  })
})
