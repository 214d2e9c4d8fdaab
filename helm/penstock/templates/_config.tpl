{{- /* What follows from the configuration. */}}

{{- define "penstock.configFile" -}}
# Written by Helm: change "config" of the values instead.
{{ toYaml .Values.config }}
{{- end }}

{{- /*
The migration needs the database alone. A configuration without an app is refused, so there is one that nobody asks
anything of, and no credential of the provider is in reach.
*/}}
{{- define "penstock.migrationConfigFile" -}}
{{- $database := merge (dict "urlFile" "/run/secrets/penstock/database-url") .Values.config.database }}
{{- $provider := dict "classroom" (dict "url" "https://none.invalid") }}
{{- $app := dict "id" "none" "region" "ap" "plan" "starter" "classroom" (dict "uid" "none" "token" "none") -}}
# Written by Helm for the migration, which asks nothing of the provider.
{{ toYaml (dict "database" $database "provider" $provider "apps" (list $app)) }}
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
{{- range $service := omit .Values.config.provider "proxyFile" }}
{{- $url := urlParse $service.url }}
{{- $own := regexFind ":[0-9]+$" $url.host | trimPrefix ":" }}
{{- $ports = append $ports ($own | default (eq $url.scheme "https" | ternary "443" "80")) }}
{{- end }}
{{- $ports | uniq | sortAlpha | join "," }}
{{- end }}
