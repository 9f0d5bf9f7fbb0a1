{{- define "endpointd.labels" -}}
app.kubernetes.io/name: {{ .Values.name }}
{{- end }}

{{- define "endpointd.image" -}}
{{- with .Values.image -}}
{{- .repository -}}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}
