{{- /* What follows from the configuration. */}}

{{- define "penstock.configFile" -}}
# Written by Helm: change "config" of the values instead.
{{ toYaml (set (deepCopy .Values.config) "provider" (include "penstock.provider" . | fromJson)) }}
{{- end }}

{{- /*
The services of the provider. Helm keeps the placeholder where the values name others alone, as it does every default that
they leave out: whoever has calls or players and no classrooms asks nothing of it.
*/}}
{{- define "penstock.provider" -}}
{{- $provider := .Values.config.provider }}
{{- if eq (dig "classroom" "url" "" $provider) "https://classroom.invalid" }}
{{- $others := omit $provider "classroom" "proxyFile" }}
{{- toJson ($others | empty | ternary $provider (omit $provider "classroom")) }}
{{- else }}
{{- toJson $provider }}
{{- end }}
{{- end }}

{{- /*
The migration needs the database alone, and goes there by the one address that its Secret has. A configuration without an
app is refused, so there is one that nobody asks anything of, and no credential of the provider is in reach.
*/}}
{{- define "penstock.migrationConfigFile" -}}
{{- $settings := omit .Values.config.database "directUrlFile" "readUrlFile" }}
{{- $database := merge (dict "urlFile" "/run/secrets/penstock/database-url") $settings }}
{{- $provider := dict "classroom" (dict "url" "https://none.invalid") }}
{{- $app := dict "id" "none" "region" "ap" "plan" "starter" "classroom" (dict "uid" "none" "token" "none") -}}
# Written by Helm for the migration, which asks nothing of the provider.
{{ toYaml (dict "database" $database "provider" $provider "apps" (list $app)) }}
{{- end }}

{{- /* Through a pooler nothing can be migrated. */}}
{{- define "penstock.addressOfMigration" -}}
{{- if and .Values.config.database.directUrlFile (not .Values.migration.existingSecret) }}
{{- fail "config.database.directUrlFile: database-url leads to a pooler then, through which nothing can be migrated: name a Secret for the migration (migration.existingSecret), whose address leads to Postgres itself" }}
{{- end }}
{{- end }}

{{- /* A certification authority in a file of the Secret must be named for the migration too: it sees no other file. */}}
{{- define "penstock.authorityOfMigration" -}}
{{- $files := append .Values.migration.files "database-url" }}
{{- range .Values.extraEnv }}
{{- $file := trimPrefix "/run/secrets/penstock/" (.value | default "") }}
{{- if and (eq .name "NODE_EXTRA_CA_CERTS") (ne $file (.value | default "")) (not (has $file $files)) }}
{{- fail (printf "extraEnv: NODE_EXTRA_CA_CERTS names %s, which the migration does not see: put %q into its Secret, and into migration.files" .value $file) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "penstock.port" -}}
{{- .Values.config.http.listen | splitList ":" | last }}
{{- end }}

{{- /* The port for what the provider tells of players by itself; empty while no app has a secret for it. */}}
{{- define "penstock.notificationsPort" -}}
{{- $taken := list }}
{{- range .Values.config.apps }}
{{- $taken = append $taken .notifications | compact }}
{{- end }}
{{- if $taken }}
{{- .Values.config.notifications.listen | splitList ":" | last }}
{{- end }}
{{- end }}

{{- /* The ports of the provider's services, each once. */}}
{{- define "penstock.providerPorts" -}}
{{- $ports := list }}
{{- range $service := omit (include "penstock.provider" . | fromJson) "proxyFile" }}
{{- $url := urlParse $service.url }}
{{- $own := regexFind ":[0-9]+$" $url.host | trimPrefix ":" }}
{{- $ports = append $ports ($own | default (eq $url.scheme "https" | ternary "443" "80")) }}
{{- end }}
{{- $ports | uniq | sortAlpha | join "," }}
{{- end }}
