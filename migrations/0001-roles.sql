-- Who may do what, and the four schemas. Each of the files after this one fills a schema of the same name; 0006 holds
-- what puts several schemas together, 0007 the queue by which processes share the work.
--
-- Three roles that nobody logs in as. The daemon's login role is a member of penstock_runtime and can read and write rows,
-- nothing else; whoever migrates is a member of penstock_migrate, which owns every object; members of penstock_read read
-- what people ask about, and write nothing.
-- What a superuser has prepared is taken as it is: to ask for it again would need rights that are not needed.
do $$
begin
  begin
    if to_regrole('penstock_runtime') is null then
      create role penstock_runtime nologin;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  begin
    if to_regrole('penstock_migrate') is null then
      create role penstock_migrate nologin;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
  -- Whoever may create roles is a member of what it made, but since Postgres 16 one that cannot become it.
  begin
    set local role penstock_migrate;
    reset role;
  exception when insufficient_privilege then
    execute format('grant penstock_migrate to %I', current_user);
  end;
  if not has_database_privilege('penstock_migrate', current_database(), 'create') then
    execute format('grant create on database %I to penstock_migrate', current_database());
  end if;
exception when insufficient_privilege then
  raise exception 'the roles penstock_runtime and penstock_migrate must exist and % must be a member of the second', current_user
    using errcode = 'insufficient_privilege',
      hint = 'As a superuser: create role penstock_runtime nologin; create role penstock_read nologin; create role penstock_migrate nologin; '
      || 'grant penstock_migrate to ' || quote_ident(current_user) || '; grant create on database '
      || quote_ident(current_database()) || ' to penstock_migrate;';
end
$$;

do $$
begin
  begin
    if to_regrole('penstock_read') is null then
      create role penstock_read nologin;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
exception when insufficient_privilege then
  raise exception 'the role penstock_read must exist' using errcode = 'insufficient_privilege',
    hint = 'As a superuser: create role penstock_read nologin;';
end
$$;

-- The migrator has made this schema and the table in it, to note there what it applies.
alter schema ingest owner to penstock_migrate;
alter table ingest.migration owner to penstock_migrate;
comment on table ingest.migration is 'Which migrations this database has; written by penstock migrate up';
create schema classroom authorization penstock_migrate;
create schema analytics authorization penstock_migrate;
create schema players authorization penstock_migrate;
comment on schema ingest is 'The daemon''s own bookkeeping: progress, budget, gaps, dead letters, ownership';
comment on schema classroom is 'Classrooms as people ask about them: rooms, events, attendance, chat, quizzes, polls, recordings';
comment on schema analytics is 'Calls and their quality: calls, sessions of users, their metrics, insights, real-time values';
comment on schema players is 'Cloud players: media streams that are played in channels, and what became of them';

-- Tables and views that are made from here on, by later migrations too, have these rights; what differs is granted and
-- revoked beside the object.
grant usage on schema ingest, classroom, analytics, players to penstock_runtime, penstock_read;
grant select on ingest.migration to penstock_runtime, penstock_read;
alter default privileges for role penstock_migrate in schema ingest, classroom, analytics, players
  grant select, insert, update, delete on tables to penstock_runtime;
alter default privileges for role penstock_migrate in schema ingest, classroom, analytics, players
  grant select on tables to penstock_read;
alter default privileges for role penstock_migrate in schema ingest
  grant usage on sequences to penstock_runtime;
