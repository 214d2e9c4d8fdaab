set local role penstock_migrate;

-- What was stored before addresses were masked; of these the whole query is, with its names.
create function pg_temp.masked(address text) returns text language sql immutable as $$
  select regexp_replace(regexp_replace(address, '(://)[^/?#"\\]*@', '\1[redacted]@', 'g'),
                        '(://[^?"]*\?)(?:[^"\\]|\\.)+', '\1[redacted]', 'g')
$$;
update players.cloud_player set stream_url = pg_temp.masked(stream_url) where stream_url ~ '://.*[@?]';
update players.cloud_player set extra = pg_temp.masked(extra::text)::jsonb where extra::text ~ '://.*[@?]';
update players.notification set payload = pg_temp.masked(payload::text)::jsonb where payload::text ~ '://.*[@?]';
drop function pg_temp.masked(text);
comment on column players.cloud_player.stream_url is 'Address of what it plays; users, passwords and the values of its query are replaced by a mark';
comment on column players.notification.payload is 'What it holds besides; secrets, those in addresses too, are replaced by a mark';

reset role;
