{{- /* Names and labels, as Kubernetes recommends them. */}}

{{- define "penstock.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The release's name, with the chart's where it does not hold it already; short enough for a suffix. */}}
{{- define "penstock.fullname" -}}
{{- $name := include "penstock.name" . }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- /* The account of a component's pods; empty for that of the namespace. The migration runs before the daemon's is made. */}}
{{- define "penstock.serviceAccountName" -}}
{{- $component := index . 1 }}
{{- with index . 0 }}
{{- if not .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name }}
{{- else }}
{{- .Values.serviceAccount.name | default (include "penstock.fullname" .) }}{{ eq $component "migration" | ternary "-migration" "" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What an object is selected by; these never change during the life of a release. */}}
{{- define "penstock.releaseLabels" -}}
app.kubernetes.io/name: {{ include "penstock.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "penstock.daemonLabels" -}}
{{ include "penstock.releaseLabels" . }}
app.kubernetes.io/component: daemon
{{- end }}

{{- /* Every label of an object: the context, and the component it belongs to. */}}
{{- define "penstock.labels" -}}
{{- $root := index . 0 }}
{{- include "penstock.releaseLabels" $root }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: penstock
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_") }}
{{- end }}
