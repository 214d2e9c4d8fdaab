{{- /* Rules that let a pod find the database by its name and reach it. */}}
{{- define "penstock.egressToDatabase" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- ports:
    - port: {{ .Values.networkPolicy.postgres.port }}
  {{- with .Values.networkPolicy.postgres.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
