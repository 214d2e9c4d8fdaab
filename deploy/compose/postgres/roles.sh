#!/bin/sh
# Runs once, when the database is made: a login role for each of those who use it, with no more rights than it needs.
# The three roles without a login are those that the migrations give the tables to, and the rights on them.
set -eu

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set database="$POSTGRES_DB" \
  --set migration_password="$MIGRATION_PASSWORD" \
  --set runtime_password="$RUNTIME_PASSWORD" \
  --set grafana_password="$GRAFANA_DB_PASSWORD" <<'SQL'
create role penstock_migrate nologin;
create role penstock_runtime nologin;
create role penstock_read nologin;
grant create on database :"database" to penstock_migrate;

create role penstock_migration login password :'migration_password' in role penstock_migrate;
create role penstock login password :'runtime_password' in role penstock_runtime;
create role grafana login password :'grafana_password' in role penstock_read;
SQL
