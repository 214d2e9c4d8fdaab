import type { TableName } from '../../rows/rows.ts'
import { type Statement, statement } from '../statement.ts'
import { advanced, fence, incoming, rejected, settled, store, verdict } from './ctes.ts'

/**
 * Commits a page of a room's widget log or list. It counts only while the room is certainly still the incarnation
 * that the page was read for; whether it is, the room's log decides first.
 */
const verified = `
  verified as materialized (
    select 1 from classroom.room r
    where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int
      and r.verified_at > ingest.clock() - :memory::interval
  )`

/** Two different items at one place of a widget log: the first stays. */
const diverged = `
  diverged as (
    insert into ingest.divergence (app_id, stream, series, key, kept, other)
    select :app, :stream, :series, :incarnation::text || '/' || d.position, s.data, d.data
    from ${incoming('classroom.widget_event')}
    join classroom.widget_event s on s.app_id = :app and s.room_uuid = d.room_uuid and s.incarnation = :incarnation::int
      and s.widget = d.widget and s.position = d.position and s.content_hash <> d.content_hash
    where exists (select from moved)
    on conflict do nothing
    returning 1
  )`

function listStatement(name: string, written: readonly TableName[]): Statement {
  const stores = written.map(table =>
    store(table, {
      incarnation: ':incarnation::int',
      from: 'where exists (select from moved)',
      conflict: {},
    }),
  )
  const watched = written.includes('classroom.widget_event')
  const pieces = [
    fence('apart'),
    verified,
    advanced('exists (select from verified)'),
    ...stores,
    ...(watched ? [diverged] : []),
  ]
  const extra = {
    diverged: watched ? '(select count(*) from diverged)::int' : '0',
    verified: 'exists (select from verified)',
  }
  return statement(name, `with ${[...pieces, rejected, settled].join(',')} ${verdict(written, extra)}`)
}

const quizTables = ['classroom.widget_event', 'classroom.quiz', 'classroom.quiz_submission'] as const
const pollTables = [
  'classroom.widget_event',
  'classroom.poll',
  'classroom.poll_submission',
  'classroom.poll_tally',
] as const
const recordingTables = ['classroom.recording', 'classroom.recording_file'] as const
const resourceTables = ['classroom.resource'] as const

export const commitQuiz = listStatement('commit_quiz', quizTables)
export const commitPoll = listStatement('commit_poll', pollTables)
export const commitRecordings = listStatement('commit_recordings', recordingTables)
export const commitResources = listStatement('commit_resources', resourceTables)
