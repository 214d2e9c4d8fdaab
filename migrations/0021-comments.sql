-- What these columns are was said wrongly, or of another one.
comment on column classroom.school_day.day is 'The day, as people in the time zone of the app say it';
comment on column ingest.complete_day.day is 'The day, in the time zone of the app';
comment on column classroom.quiz.average_accuracy is
  'As the provider gives it: 0 also where nobody answered; classroom.quiz_result.accuracy counts the answers';
comment on column analytics.quality_by_hour.video_freeze_p95_ms is
  'Mean over the calls of what 95 of 100 values of the call are at most, each call weighed by its values in the hour; no percentile of the hour';
comment on column analytics.quality_by_hour.audio_loss_p95_pct is
  'Mean over the calls of what 95 of 100 values of the call are at most, each call weighed by its values in the hour; no percentile of the hour';
comment on column analytics.quality_by_hour.video_loss_p95_pct is
  'Mean over the calls of what 95 of 100 values of the call are at most, each call weighed by its values in the hour; no percentile of the hour';
comment on column analytics.quality_by_hour.audio_freeze_p95_ms is
  'Mean over the calls of what 95 of 100 values of the call are at most, each call weighed by its values in the hour; no percentile of the hour';
