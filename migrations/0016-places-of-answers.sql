-- An answer to a quiz or poll is told apart by its place in the log, which may be any number that the provider gives.
set local role penstock_migrate;

-- These read the ordinal, and Postgres changes no column beneath a view.
drop view classroom.quiz_accuracy;
drop view classroom.quiz_result;

alter table classroom.quiz_submission alter column ordinal type bigint;
alter table classroom.poll_submission alter column ordinal type bigint;
comment on table classroom.quiz_submission is 'Every answer to a quiz; a user may answer again';
comment on column classroom.quiz_submission.ordinal is 'Place in the log: of a user''s answers the last has the highest';
comment on table classroom.poll_submission is 'Every vote; a user may vote again';
comment on column classroom.poll_submission.ordinal is 'Place in the log: of a user''s votes the last has the highest';

create view classroom.quiz_result as
  select q.app_id, q.room_uuid, q.incarnation, q.quiz_id, q.started_at, q.state, q.total_count as asked,
         s.answered, s.correct, s.correct::double precision / nullif(s.answered, 0) as accuracy,
         q.average_accuracy as reported_accuracy
  from classroom.quiz q
  cross join lateral (
    select count(*)::int as answered, (count(*) filter (where a.is_correct))::int as correct
    from (
      select distinct on (x.user_uuid) x.is_correct from classroom.quiz_submission x
      where x.app_id = q.app_id and x.room_uuid = q.room_uuid and x.incarnation = q.incarnation and x.quiz_id = q.quiz_id
      order by x.user_uuid, x.ordinal desc
    ) a
  ) s;
comment on view classroom.quiz_result is 'Every quiz with its outcome, counted from the answers themselves';
comment on column classroom.quiz_result.asked is 'Students who could answer';
comment on column classroom.quiz_result.answered is 'Students who did';
comment on column classroom.quiz_result.correct is 'Students whose last answer was right';
comment on column classroom.quiz_result.accuracy is 'Share of those who answered; null where nobody did';
comment on column classroom.quiz_result.reported_accuracy is 'The same as the provider last gave it';

create view classroom.quiz_accuracy as
  select q.app_id, q.room_uuid, q.incarnation, count(*)::int as quizzes, sum(q.asked)::int as asked,
         sum(q.answered)::int as answered, sum(q.correct)::int as correct,
         sum(q.correct)::double precision / nullif(sum(q.answered), 0) as accuracy
  from classroom.quiz_result q
  group by q.app_id, q.room_uuid, q.incarnation;
comment on view classroom.quiz_accuracy is 'All quizzes of each class together';
comment on column classroom.quiz_accuracy.asked is 'Times that a student could answer';
comment on column classroom.quiz_accuracy.accuracy is 'Share of the answers that were right: a quiz that many answered counts for more';

grant select on classroom.quiz_result, classroom.quiz_accuracy to penstock_runtime;
reset role;
