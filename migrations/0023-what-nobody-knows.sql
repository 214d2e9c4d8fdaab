-- What the provider says beside a value, which its documents leave open, is kept.

alter table analytics.usage_insight add column extra jsonb;
alter table analytics.quality_insight add column extra jsonb;
alter table analytics.usage_realtime add column extra jsonb;
alter table analytics.quality_realtime add column extra jsonb;
comment on column analytics.usage_insight.extra is 'Fields that have no column here, as they came; null with most';
comment on column analytics.quality_insight.extra is 'Fields that have no column here, as they came; null with most';
comment on column analytics.usage_realtime.extra is 'Fields that have no column here, as they came; null with most';
comment on column analytics.quality_realtime.extra is
  'Fields that have no column here, as they came; entry: those of the user, beside the first of the values';
comment on column analytics.session_metric.extra is
  'What else came with the value, as it came: elements behind the pair, or members beside it; null with most. Beside the first value of an answer also what else its series and its entry say, by these names, and what the pair says as pair';
comment on column analytics.session_metric.peer_uid is
  'The remote user that the value is about; 0: the session''s own user; empty: the provider did not say';
