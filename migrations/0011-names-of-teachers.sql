-- The names of those who teach a class stand in a column of their own.
create or replace function ingest.tells_names(p_column name) returns boolean language sql immutable parallel safe as $$
  select p_column in ('user_name', 'operator_name', 'teachers', 'message', 'data', 'extra', 'payload', 'url', 'stream_url', 'task_progress')
$$;
