import { series } from '../panels.ts'
import { sqlSeries, sqlTable } from '../sources.ts'
import { table } from '../tables.ts'
import { chosen, names } from './queries.ts'

const half = { width: 12, height: 8, unit: 'none' }

/** What was done: quizzes, polls, rewards. */
export const work = {
  title: 'Quizzes, polls, rewards',
  panels: [
    table({
      ...half,
      title: 'Quizzes',
      description:
        'Every quiz of the class. An accuracy below a half is a question that was not understood; few answers mean that many were not with it.',
      none: 'there was no quiz',
      queries: [
        sqlTable(`
select q.started_at as "Began", q.ended_at as "Ended", r.state as "State", r.answered as "Answered", r.asked as "Of",
       r.correct as "Correct", r.accuracy as "Accuracy",
       (select string_agg(x #>> '{}', ', ') from jsonb_path_query(q.correct_items, '$[*]') x) as "Right answer"
from classroom.quiz q join classroom.quiz_result r using (app_id, room_uuid, incarnation, quiz_id)
where ${chosen('q')} order by q.started_at`),
      ],
      columns: {
        Accuracy: { unit: 'percentunit', decimals: 0, steps: ['red', [0.5, 'yellow'], [0.75, 'green']] },
      },
    }),
    table({
      ...half,
      title: 'Polls',
      description: 'Every option of every poll with its votes. There is no good or bad.',
      none: 'there was no poll',
      queries: [
        sqlTable(`
select p.started_at as "Began", r.state as "State", r.mode as "Mode", r.option as "Option", r.votes as "Votes", r.share as "Share"
from classroom.poll_result r join classroom.poll p using (app_id, room_uuid, incarnation, poll_id)
where ${chosen('r')} order by p.started_at, r.poll_id, r.option_index`),
      ],
      columns: {
        Share: { unit: 'percentunit', decimals: 0 },
      },
    }),
    series({
      ...half,
      title: 'Rewards',
      description: 'Rewards given within the time of a point, by user. There is no good or bad.',
      unit: 'short',
      none: 'no reward was given in this time',
      drawn: 'stacked bars',
      interval: '1m',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(w.at, '$__interval'), coalesce(n.name, w.user_uuid) as metric, sum(w.changed_reward) as value
from classroom.reward w left join (${names}) n using (user_uuid)
where ${chosen('w')} and $__timeFilter(w.at)
group by 1, 2 order by 1`),
      ],
    }),
  ],
}

/** What is kept of the class, and whether all of it is here. */
export const kept = {
  title: 'Recordings, files, completeness',
  panels: [
    table({
      title: 'Recordings',
      description:
        'Recordings of the class as they were listed last. One that ended and has no files after an hour is bad.',
      unit: 'none',
      none: 'nothing was recorded',
      width: 10,
      height: 7,
      queries: [
        sqlTable(`
select r.started_at as "Began", r.ended_at as "Ended", extract(epoch from r.ended_at - r.started_at) as "Length", r.type as "Kind",
       r.status as "State", (select count(*) from classroom.recording_file f
                             where ${chosen('f')} and f.record_id = r.record_id and f.removed_at is null) as "Files"
from classroom.recording r where ${chosen('r')} order by r.started_at`),
      ],
      columns: {
        Length: { unit: 's', decimals: 0 },
        Kind: {
          words: {
            1: { text: 'individual', color: 'text' },
            2: { text: 'composite', color: 'text' },
            3: { text: 'web page', color: 'text' },
          },
        },
        State: { words: { 1: { text: 'records', color: 'blue' }, 2: { text: 'ended', color: 'text' } } },
      },
    }),
    table({
      title: 'Shared files',
      description:
        'Files of the room as they were listed last, and when they were removed. There is no good or bad.',
      unit: 'none',
      none: 'nothing was shared',
      width: 7,
      height: 7,
      queries: [
        sqlTable(`
select resource_name as "Name", ext as "Kind", size as "Size", updated_at as "Changed", removed_at as "Removed"
from classroom.resource where ${chosen()} order by updated_at`),
      ],
      columns: { Size: { unit: 'bytes', decimals: 0 } },
    }),
    table({
      title: 'Is it all here?',
      description:
        'For each stream, whether all of the room is stored. A no is bad only after the class has ended: then something is missing, or not read yet.',
      unit: 'none',
      none: 'the room was used again since; only its latest use is told here',
      width: 7,
      height: 7,
      queries: [
        sqlTable(`
select stream as "Stream", case when complete then 'yes' else 'no' end as "Complete", gaps as "Gaps", reason as "Why not", caught_up_at as "Read until"
from ingest.room_complete where ${chosen()} order by stream`),
      ],
      columns: {
        Complete: { words: { yes: { text: 'yes', color: 'green' }, no: { text: 'no', color: 'orange' } } },
        Gaps: { steps: ['green', [1, 'red']] },
      },
    }),
  ],
}
