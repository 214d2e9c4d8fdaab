-- Rooms that someone wants read again from their beginning, of all apps: the daemon looks for them now and then.
create index progress_room_wanted on ingest.progress (app_id, series) where wanted <> '{}' and owed_from is null;

comment on column ingest.progress.wanted is
  'What someone asked for once more: ranges of time; of a room all of it, from the beginning';
