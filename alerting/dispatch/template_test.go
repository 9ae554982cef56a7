package dispatch_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
)

func templateData() dispatch.TemplateData {
	return dispatch.TemplateData{
		ID: "id", Title: "too hot", Description: "100 °C", Severity: "Critical", Source: "plc-1", SourceType: "Sensor",
		State: "Resolved", Resolved: true, At: "2026-01-01T00:00:00Z", Labels: map[string]string{"job": "plant", "a": "b"},
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ subject, body, wantSubject, wantBody string }{
		{"", "{{.ID}}", "Resolved: [Critical] plc-1: too hot", "id"},
		{"{{upper .Severity}}\r\nBcc: x", "{{range $k, $v := .Labels}}{{$k}}={{$v}};{{end}}", "CRITICAL Bcc: x", "a=b;job=plant;"},
		{"{{.Title | truncate 3}}", "{{with .Labels.none}}never{{else}}{{index .Labels \"job\"}}{{end}}", "too", "plant"},
		{"x", "{{if and .Resolved (eq .Severity \"Critical\")}}{{len .Labels}}{{end}}", "x", "2"},
		{"x", "{{with $.Labels}}{{range $.Labels}}{{lower .}}{{break}}{{end}}{{end}}", "x", "b"},
		{strings.Repeat("ä", 1000), "x", strings.Repeat("ä", 254) + "…", "x"},
	} {
		tmpl, err := dispatch.CompileTemplate(alerting.TemplateText{Subject: c.subject, Body: c.body})
		require.NoError(t, err)
		subject, body, err := tmpl.Render(templateData())
		require.NoError(t, err)
		require.Equal(t, c.wantSubject, subject)
		require.Equal(t, c.wantBody, body)
	}
}

// TestDefaultTemplateOfLateAlarm says that the alarm was over when it was reported.
func TestDefaultTemplateOfLateAlarm(t *testing.T) {
	tmpl, err := dispatch.CompileTemplate(alerting.TemplateText{})
	require.NoError(t, err)
	data := templateData()
	data.Labels, data.Resolved = map[string]string{alarms.LabelLate: "true"}, false
	subject, body, err := tmpl.Render(data)
	require.NoError(t, err)
	require.Equal(t, "Late: [Critical] plc-1: too hot", subject)
	require.Contains(t, body, "late: true")
}

func TestTemplatesRefused(t *testing.T) {
	for _, text := range []string{
		"{{", "{{.Nope}}", "{{nope}}", "{{end}}", "{{range 1000000000}}{{end}}", "{{range .Title}}{{end}}", "{{range len .Labels}}{{end}}",
		"{{range .Labels}}{{range $.Labels}}{{end}}{{end}}", `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`,
		`{{block "x" .}}{{end}}`, `{{printf "%1000000d" 1}}`, `{{if printf "%d" 1}}{{end}}`, `{{with (print 1)}}{{end}}`, `{{call .Title}}`,
		`{{(html .Title).X}}`, strings.Repeat("x", dispatch.MaxTemplate+1),
	} {
		for _, tt := range []alerting.TemplateText{{Subject: text}, {Body: text}} {
			_, err := dispatch.CompileTemplate(tt)
			require.Error(t, err, text)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(dispatch.DefaultBody, "title", "value")
	for _, text := range []string{
		"{{range .Labels}}{{.}}{{end}}", "{{$x := .Title}}{{$x = upper $x}}{{$x}}", "{{with .Labels}}{{.job}}{{end}}",
		"{{truncate -1 .Title | len}}", "{{if lt 1 2}}{{else if .At}}{{end}}", "{{index .Title 0}}", "{{/* */}}{{- 1 -}}",
	} {
		f.Add(text, "ä", "\xff")
	}
	f.Fuzz(func(t *testing.T, text, title, value string) {
		tmpl, err := dispatch.CompileTemplate(alerting.TemplateText{Subject: text, Body: text})
		if err != nil {
			return
		}
		d := templateData()
		d.Title, d.Labels = title, map[string]string{"job": value, value: title}
		start := time.Now()
		subject, body, err := tmpl.Render(d)
		require.Less(t, time.Since(start), 2*time.Second)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(subject), dispatch.MaxSubject)
		require.LessOrEqual(t, len(body), dispatch.MaxBody)
		require.True(t, utf8.ValidString(subject))
		require.True(t, utf8.ValidString(body))
		require.NotContains(t, subject, "\n")
	})
}
