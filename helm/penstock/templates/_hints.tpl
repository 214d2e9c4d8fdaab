{{- /* Refuses a key that there is not, and says which one may be meant. */}}

{{- define "penstock.checkKeys" -}}
{{- include "penstock.checkKeysOf" (list "" .Values (include "penstock.knownKeys" . | fromJson)) }}
{{- end }}

{{- /* For a path, the values there, and the keys that are known there: each with those below it, or null. */}}
{{- define "penstock.checkKeysOf" -}}
{{- $path := index . 0 }}
{{- $known := index . 2 }}
{{- range $key, $value := index . 1 }}
{{- if not (hasKey $known $key) }}
{{- fail (printf "there is no value %s%s%s" $path $key (include "penstock.hint" (list $path $key $known))) }}
{{- end }}
{{- if and (kindIs "map" $value) (kindIs "map" (get $known $key)) }}
{{- include "penstock.checkKeysOf" (list (printf "%s%s." $path $key) $value (get $known $key)) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What is said to a key that is not known: what it is called here, where it belongs, or what it resembles. */}}
{{- define "penstock.hint" -}}
{{- $path := index . 0 }}
{{- $key := index . 1 }}
{{- $known := index . 2 }}
{{- $elsewhere := dict
  "replicas" "replicaCount"
  "env" "extraEnv"
  "extraEnvVars" "extraEnv"
  "extraEnvFrom" "envFrom"
  "volumes" "extraVolumes"
  "volumeMounts" "extraVolumeMounts"
  "sidecars" "extraContainers"
  "extraInitContainers" "initContainers"
  "serviceAccountName" "serviceAccount.name"
  "securityContext" "podSecurityContext; the rest of it is fixed"
  "pod" "podAnnotations, podLabels, nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName and serviceAccount.name"
  "pdb" "podDisruptionBudget"
  "metrics" "serviceMonitor"
  "prometheusRule" "alerts"
}}
{{- if and (not $path) (hasKey $elsewhere $key) }}
{{- printf ": write %s" (get $elsewhere $key) }}
{{- else if and (not $path) (has $key (include "penstock.configKeys" . | fromJsonArray)) }}
{{- printf ": it belongs to the configuration, as config.%s" $key }}
{{- else }}
{{- $nearest := include "penstock.nearest" (list $key (keys $known)) }}
{{- $nearest | empty | ternary ": README.md of the chart lists them" (printf ": did you mean %s%s?" $path $nearest) }}
{{- end }}
{{- end }}

{{- /* Of some words the one most like a given one, by pairs of letters in common and beginning; empty where none is. */}}
{{- define "penstock.nearest" -}}
{{- $given := index . 0 }}
{{- $pairs := include "penstock.pairs" $given | fromJsonArray }}
{{- $best := dict "word" "" "score" 33 }}
{{- range $word := index . 1 | sortAlpha }}
{{- $others := include "penstock.pairs" $word | fromJsonArray }}
{{- $shared := 0 }}
{{- range $pairs }}
{{- $shared = add $shared (has . $others | ternary 1 0) }}
{{- end }}
{{- $score := div (mul 200 $shared) (add (len $pairs) (len $others) | max 1) }}
{{- $score = hasPrefix (lower $given) (lower $word) | ternary 40 0 | add $score }}
{{- if gt $score (int $best.score) }}
{{- $_ := set $best "word" $word }}
{{- $_ := set $best "score" $score }}
{{- end }}
{{- end }}
{{- $best.word }}
{{- end }}

{{- /* The pairs of neighbouring letters in a word. */}}
{{- define "penstock.pairs" -}}
{{- $word := lower . }}
{{- $pairs := list }}
{{- range $i := until (sub (len $word) 1 | int | max 0 | int) }}
{{- $pairs = append $pairs (substr $i (int (add $i 2)) $word) }}
{{- end }}
{{- $pairs | uniq | toJson }}
{{- end }}
