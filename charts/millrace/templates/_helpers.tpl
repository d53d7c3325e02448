{{/* The name in objects' names: the release's, with the chart's unless that stands in it. */}}
{{- define "millrace.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of objects that are in no namespace: releases of one name in two namespaces must not meet there. */}}
{{- define "millrace.clustername" -}}
{{- printf "%s-%s" .Release.Namespace (include "millrace.fullname" .) -}}
{{- end -}}

{{- define "millrace.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: millrace
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "millrace.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "millrace.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "millrace.image" -}}
{{- $repository := required "image.repository is empty: build the image with the Dockerfile, push it where the cluster can pull it, and name it with --set image.repository=..." .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The watched namespaces, with commas between them; empty: all. */}}
{{- define "millrace.namespaces" -}}
{{- if .Values.watch.namespaces -}}
{{- .Values.watch.namespaces | uniq | join "," -}}
{{- else if eq .Values.rbac.scope "Namespace" -}}
{{- .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/*
What the operator may do where it looks after pipelines. No Secrets. Beside what it does itself stands what it grants to
workers: Kubernetes lets nobody grant what they do not hold.
*/}}
{{- define "millrace.rules" -}}
# Pipelines are the users': their status alone is written.
- apiGroups: [millrace.dev]
  resources: [streampipelines]
  verbs: [get, list, watch]
- apiGroups: [millrace.dev]
  resources: [streampipelines/status]
  verbs: [get, patch, update]
# To own objects in a pipeline's name, where the API server checks that.
- apiGroups: [millrace.dev]
  resources: [streampipelines/finalizers]
  verbs: [update]
# Workers' records: the operator reads them and writes instructions; it grants the rest.
- apiGroups: [millrace.dev]
  resources: [streamworkers, streamsplits, streamledgers]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [millrace.dev]
  resources: [streamworkers/status]
  verbs: [get, patch, update]
# Heartbeats, and the workers' leader.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, delete, get, list, patch, update, watch]
# Revisions and plan records are ConfigMaps.
- apiGroups: [""]
  resources: [configmaps, serviceaccounts, services]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, delete, get, list, patch, update, watch]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [create, delete, get, list, patch, update, watch]
# Pods come from StatefulSets; the operator replaces them by deleting them.
- apiGroups: [""]
  resources: [pods]
  verbs: [delete, get, list, watch]
# Its own Events, and what Kubernetes says of workloads.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [get, list]
{{- end -}}
