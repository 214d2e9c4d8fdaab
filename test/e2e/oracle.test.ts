import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'
import { complaint, type Report } from '../support/oracle/report.ts'
import { openStage, type Stage } from './stage.ts'

interface Tampering {
  readonly what: string
  readonly sql: string
  /** The part of the report that must grow by one at least. */
  readonly part: 'lost' | 'excused' | 'duplicates' | 'foreign' | 'differences' | 'secrets'
}

const oneChat = 'ctid = (select ctid from classroom.chat_message order by room_uuid, sequence limit 1)'
const oneEvent =
  'ctid = (select ctid from classroom.room_event where cmd = 3 order by room_uuid, sequence limit 1)'

const tamperings: readonly Tampering[] = [
  {
    what: 'a message that is gone',
    sql: `delete from classroom.chat_message where ${oneChat}`,
    part: 'lost',
  },
  {
    what: 'a message with one more character',
    sql: `update classroom.chat_message set message = message || '.' where ${oneChat}`,
    part: 'differences',
  },
  {
    what: 'someone who entered twice',
    sql: `insert into classroom.attendance select app_id, room_uuid, incarnation, sequence, ordinal + 100, user_uuid,
            user_name, role, stream_uuid, action, at, extra from classroom.attendance limit 1`,
    part: 'foreign',
  },
  {
    what: 'an event in a second incarnation',
    sql: `insert into classroom.room_event select app_id, room_uuid, incarnation + 1, sequence, cmd, version, data,
            event_time, at, at_source, received_at, source, extra from classroom.room_event where ${oneEvent}`,
    part: 'duplicates',
  },
  {
    what: 'a token in clear',
    sql: `update classroom.room_event set data = '{"boardToken": "board-secret-1"}' where ${oneEvent}`,
    part: 'secrets',
  },
  {
    what: 'a missing event that the gap ledger calls lost',
    sql: `with gone as (delete from classroom.room_event where ${oneEvent} returning *)
          insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state)
          select app_id, 'room-events', room_uuid, incarnation, 'sequence', sequence, sequence, 'hole', 'lost' from gone`,
    part: 'excused',
  },
]

describe('the oracle', () => {
  let stage: Stage
  let last: Report

  beforeAll(async () => {
    stage = await openStage({ seed: 'oracle', school: { classes: 2 } })
    const daemon = stage.start()
    await daemon.ready
    await systemClock.sleep(3_000)
    last = await stage.settle(30_000)
    await daemon.terminate()
  })

  afterAll(() => stage.close())

  it('finds nothing wrong with a database that holds the truth', () => {
    expect(complaint(last)).toBe('')
    expect(last.rows.chat_message).toBeGreaterThan(10)
  })

  for (const { what, sql, part } of tamperings) {
    it(`sees ${what}`, async () => {
      await ask(stage.databaseUrl, sql)
      const report = await stage.settle(0)
      expect(report[part].length).toBeGreaterThan(last[part].length)
      expect(complaint(report)).not.toBe('')
      last = report
    })
  }
})
