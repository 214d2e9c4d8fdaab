import { LineInterpolation } from '@grafana/grafana-foundation-sdk/common'
import { bad } from '../call-quality/worst.ts'
import { linkColumns, toClass } from '../links.ts'
import { series, timeline } from '../panels.ts'
import { sqlSeries, sqlTable } from '../sources.ts'
import { table } from '../tables.ts'
import { chosen, names } from './queries.ts'

const wide = { width: 24, height: 8 }
const half = { width: 12, height: 8 }

const there = {
  0: { text: 'no', color: 'transparent' },
  1: { text: 'yes', color: 'green' },
} as const

/**
 * Who was somewhere, from when to when, by a view of such times. Who is still there has no end, and who came and went at one
 * moment was never there.
 */
function spans(view: string, begin: string, lasted: string) {
  return sqlSeries(`
select c.time, coalesce(n.name, i.user_uuid) as metric, max(c.value) as value
from classroom.${view} i
cross join lateral (values (i.${begin}, 1), (i.${begin} + i.${lasted}, 0)) c (time, value)
left join (${names}) n on n.user_uuid = i.user_uuid
where ${chosen('i')} and c.time is not null and coalesce(i.${lasted} > interval '0', true)
group by 1, 2 order by 1`)
}

/** The class itself: what it was, and whether all of it is here. */
export const about = {
  title: 'The class',
  panels: [
    table({
      title: 'The class',
      description:
        'What is known of the class, how its quizzes went (share of right answers) and how its calls did. The room moves the chosen time to the class. A bad share above a tenth disturbs a class; an accuracy below a half is a class that was not understood.',
      unit: 'none',
      none: 'no class is chosen, or none took place in the chosen time',
      width: 24,
      height: 4,
      queries: [
        sqlTable(`
select c.room_uuid as "Room", c.incarnation as "Use", c.app_id as "App", case when c.is_going_on then 'goes on' else c.state end as "State",
       c.started_at as "Began", c.ended_at as "Ended", c.minutes as "Minutes", c.teachers as "Teachers", c.students as "Students",
       c.messages as "Messages", c.hands as "Hands", c.rewards as "Rewards", a.accuracy as "Accuracy", q.bad_share as "Bad",
       floor(extract(epoch from coalesce(c.started_at, r.first_seen_at) - interval '5 minutes') * 1000) as from_ms,
       floor(extract(epoch from coalesce(c.ended_at, r.last_event_at, $__timeTo()::timestamptz) + interval '5 minutes') * 1000) as to_ms
from classroom.class c
join classroom.room r using (app_id, room_uuid, incarnation)
left join classroom.quiz_accuracy a using (app_id, room_uuid, incarnation)
left join analytics.class_quality q using (app_id, room_uuid, incarnation)
where ${chosen('c')}`),
      ],
      columns: {
        ...bad,
        ...linkColumns,
        Room: { link: { ...toClass, title: 'Move the chosen time to this class' }, width: 220 },
        Minutes: { unit: 'short', decimals: 0 },
        Accuracy: { unit: 'percentunit', decimals: 0, steps: ['red', [0.5, 'yellow'], [0.75, 'green']] },
        State: {
          words: {
            'goes on': { text: 'goes on', color: 'green' },
            started: { text: 'its end was not seen', color: 'orange' },
          },
        },
      },
    }),
    timeline({
      ...wide,
      height: 4,
      title: 'State of the room',
      description:
        'Not started, started, ended, closed. A class that starts twice or never ends is worth a question.',
      unit: 'none',
      none: 'no change of its state is known',
      queries: [
        sqlSeries(`
select at as time, 'room' as metric, max(state) as value
from classroom.room_state_change where ${chosen()} group by 1 order by 1`),
      ],
      words: {
        0: { text: 'not started', color: 'blue' },
        1: { text: 'started', color: 'green' },
        2: { text: 'ended', color: 'orange' },
        3: { text: 'closed', color: 'red' },
      },
    }),
  ],
}

/** Who was there, on the stage, and with a hand up. */
export const people = {
  title: 'The people',
  panels: [
    timeline({
      ...wide,
      height: 12,
      title: 'Attendance',
      description:
        'Who was in the room from when to when. Good is an unbroken bar; many short ones are a bad connection, one that begins late is someone who came late.',
      unit: 'none',
      none: 'nobody was seen entering',
      queries: [spans('attendance_interval', 'entered_at', 'stayed')],
      words: { 0: { text: 'away', color: 'transparent' }, 1: { text: 'present', color: 'green' } },
    }),
    series({
      ...half,
      title: 'Head count',
      description:
        'How many people are in the room, and how many of them are students. A step downwards in the middle of the class is worth a look at the quality below.',
      unit: 'short',
      none: 'nobody was seen entering',
      min: 0,
      queries: [
        sqlSeries(`
select at as time, people, students
from classroom.head_count where ${chosen()} order by at`),
      ],
    }).lineInterpolation(LineInterpolation.StepAfter),
    timeline({
      ...half,
      title: 'On the stage',
      description: 'Who was on the stage from when to when. Nobody at all is usual for a lecture.',
      unit: 'none',
      none: 'nobody was brought on the stage',
      queries: [spans('stage_interval', 'began_at', 'lasted')],
      words: there,
    }),
    timeline({
      ...half,
      title: 'Hands up',
      description: 'Whose hand was raised from when to when. Long bars are questions that wait.',
      unit: 'none',
      none: 'no hand was raised',
      queries: [spans('hand_interval', 'began_at', 'lasted')],
      words: there,
    }),
    series({
      ...half,
      title: 'Chat messages',
      description:
        'Messages within the time of a point. Much of it at once is often trouble: look at the quality below.',
      unit: 'short',
      none: 'nobody wrote anything in this time',
      drawn: 'bars',
      interval: '1m',
      queries: [
        sqlSeries(`
select $__timeGroupAlias(at, '$__interval'), count(*) as messages
from classroom.chat_message where ${chosen()} and $__timeFilter(at)
group by 1 order by 1`),
      ],
    }),
    table({
      ...wide,
      height: 9,
      title: 'What each of them did',
      description:
        'Everybody who came, those who did least last. Late are students who came more than five minutes after the start; many stays are a connection that breaks; somebody who does nothing at all may not be there.',
      unit: 'none',
      none: 'nobody was seen entering',
      queries: [
        sqlTable(`
select coalesce(p.user_name, p.user_uuid) as "Name", case when p.is_student then 'student' else 'teacher' end as "Role",
       p.entered_at as "Came", p.left_at as "Left", l.minutes_late as "Minutes late", p.stays as "Stays", p.minutes as "Minutes",
       p.messages as "Messages", p.hands as "Hands", p.rewards as "Rewards", p.quizzes_answered as "Quizzes", p.polls_voted as "Polls"
from classroom.participation p
left join classroom.late_arrival l using (app_id, room_uuid, incarnation, user_uuid)
where ${chosen('p')}
order by p.is_student, p.messages + p.hands + p.quizzes_answered + p.polls_voted desc, 1`),
      ],
      columns: {
        'Minutes late': { unit: 'short', decimals: 0, steps: ['green', [5, 'yellow'], [10, 'red']] },
        Minutes: { unit: 'short', decimals: 0 },
        Stays: { steps: ['green', [3, 'yellow'], [6, 'red']] },
      },
    }),
  ],
}
