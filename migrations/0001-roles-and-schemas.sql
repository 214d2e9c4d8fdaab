-- Two roles that nobody logs in as. The daemon's login role is a member of penstock_runtime and can read and
-- write rows, nothing else; whoever migrates is a member of penstock_migrate, which owns every object.
do $$
begin
  begin
    create role penstock_runtime nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  begin
    create role penstock_migrate nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  if not pg_has_role(current_user, 'penstock_migrate', 'member') then
    execute format('grant penstock_migrate to %I', current_user);
  end if;
  execute format('grant create on database %I to penstock_migrate', current_database());
exception when insufficient_privilege then
  raise exception 'the roles penstock_runtime and penstock_migrate must exist and % must be a member of the second', current_user
    using hint = 'As a superuser: create role penstock_runtime nologin; create role penstock_migrate nologin; '
      || 'grant penstock_migrate to ' || quote_ident(current_user) || '; grant create on database '
      || quote_ident(current_database()) || ' to penstock_migrate;';
end
$$;

alter schema ingest owner to penstock_migrate;
alter table ingest.migration owner to penstock_migrate;
alter table ingest.migration_lock owner to penstock_migrate;
create schema classroom authorization penstock_migrate;

comment on schema ingest is 'The daemon''s own bookkeeping: progress, budget, gaps, dead letters, ownership';
comment on schema classroom is 'Classrooms as people ask about them: rooms, events, attendance, chat, quizzes, polls, recordings';

grant usage on schema ingest, classroom to penstock_runtime;
grant select on ingest.migration to penstock_runtime;
alter default privileges for role penstock_migrate in schema ingest
  grant select, insert, update, delete on tables to penstock_runtime;
alter default privileges for role penstock_migrate in schema classroom
  grant select, insert, update, delete on tables to penstock_runtime;
alter default privileges for role penstock_migrate in schema ingest
  grant usage on sequences to penstock_runtime;
