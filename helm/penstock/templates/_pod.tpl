{{- /* What all pods of the chart have in common. */}}

{{- define "penstock.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* Fields of a pod: who it is, and that it needs nothing of the cluster. */}}
{{- define "penstock.podFields" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.pod.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.securityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* Fields of a container: the image, and that nothing can be written or gained. */}}
{{- define "penstock.containerFields" -}}
image: {{ include "penstock.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.env }}
env:
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

{{- /* The two files of every pod, under the names "config" and "secrets". */}}
{{- define "penstock.volumeMounts" -}}
- name: config
  mountPath: /etc/penstock
  readOnly: true
- name: secrets
  mountPath: /run/secrets/penstock
  readOnly: true
{{- end }}

{{- define "penstock.volumes" -}}
- name: config
  configMap:
    name: {{ include "penstock.fullname" . }}
- name: secrets
  secret:
    secretName: {{ .Values.existingSecret }}
    # For the group of securityContext.fsGroup, and nobody else.
    defaultMode: 0440
{{- end }}
