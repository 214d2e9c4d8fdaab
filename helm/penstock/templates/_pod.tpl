{{- /* What all pods of the chart have in common. */}}

{{- define "penstock.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* Fields of a pod, for the context and its component: who it is, and that it needs nothing of the cluster. */}}
{{- define "penstock.podFields" -}}
{{- $component := index . 1 }}
{{- with index . 0 -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with include "penstock.serviceAccountName" (list . $component) }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.podSecurityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Fields of a container: the image, and that nothing can be written or gained. */}}
{{- define "penstock.containerFields" -}}
image: {{ include "penstock.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  readOnlyRootFilesystem: true
{{- end }}

{{- /* The two folders of every pod, under the names "config" and "secrets", and what the values add. */}}
{{- define "penstock.volumeMounts" -}}
- name: config
  mountPath: /etc/penstock
  readOnly: true
- name: secrets
  mountPath: /run/secrets/penstock
  readOnly: true
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "penstock.volumes" -}}
- name: config
  configMap:
    name: {{ include "penstock.fullname" . }}
- name: secrets
  secret:
    secretName: {{ .Values.existingSecret }}
    # For the group of podSecurityContext.fsGroup, and nobody else.
    defaultMode: 0440
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
