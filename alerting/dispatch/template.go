package dispatch

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/otkit/otkit/alerting"
)

// Limits of templates and of what they make.
const (
	MaxTemplate = 16 << 10 // bytes of a template
	MaxSubject  = 512      // bytes of a subject
	MaxBody     = 16 << 10 // bytes of a body
)

// The default templates.
const (
	DefaultSubject = `{{if .Resolved}}Resolved: {{end}}{{if eq .Labels.late "true"}}Late: {{end}}[{{.Severity}}] {{.Source}}: {{.Title}}`
	DefaultBody    = `{{.State}}: {{.Title}}
{{with .Description}}{{.}}
{{end}}
Severity: {{.Severity}}
Source: {{.Source}}{{with .SourceType}} ({{.}}){{end}}
Time: {{.At}}
{{range $name, $value := .Labels}}{{$name}}: {{$value}}
{{end}}`
)

// TemplateData is what a template sees. A missing label is empty.
type TemplateData struct {
	ID          string // of the occurrence
	Title       string // the alarm's message
	Description string // the label description, which is not among Labels
	Severity    string // Info, Warning, Error or Critical
	Source      string
	SourceType  string
	State       string // Firing or Resolved
	Resolved    bool
	At          string // RFC 3339, UTC: when it was raised, or cleared if Resolved
	Labels      map[string]string
}

// Template is a checked TemplateText. Safe for concurrent use.
type Template struct {
	subject, body *template.Template
}

// CompileTemplate checks a template: it must parse, keep to what is allowed and work on an example.
func CompileTemplate(text alerting.TemplateText) (*Template, error) {
	if text.Subject == "" {
		text.Subject = DefaultSubject
	}
	if text.Body == "" {
		text.Body = DefaultBody
	}
	var (
		t   Template
		err error
	)
	if t.subject, err = compile("subject", text.Subject); err != nil {
		return nil, err
	}
	if t.body, err = compile("body", text.Body); err != nil {
		return nil, err
	}
	return &t, nil
}

// examples lead a template down its usual branches.
var examples = []TemplateData{
	{
		ID: "0", Title: "title", Severity: "Critical", Source: "source", SourceType: "Sensor", State: "Firing",
		At: "2026-01-01T00:00:00Z", Labels: map[string]string{"job": "plant"}, Description: "description",
	},
	{Severity: "Info", State: "Resolved", Resolved: true, At: "2026-01-01T00:00:00Z"},
}

func compile(name, text string) (*template.Template, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("alerting: template of the %s has more than %d bytes", name, MaxTemplate)
	}
	t, err := template.New(name).Option("missingkey=zero").Funcs(template.FuncMap{
		"upper": strings.ToUpper, "lower": strings.ToLower, "truncate": truncate,
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("alerting: %w", err)
	}
	if len(t.Templates()) > 1 {
		return nil, fmt.Errorf("alerting: template of the %s must not define templates", name)
	}
	if t.Tree != nil {
		if err := checkNode(t.Root, false); err != nil {
			return nil, fmt.Errorf("alerting: template of the %s: %w", name, err)
		}
	}
	for _, d := range examples {
		if _, err := render(t, MaxBody, d); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// truncate cuts a text to at most n characters.
func truncate(n int, s string) string {
	if n < 0 || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

var allowed = map[string]bool{
	"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
	"len": true, "index": true, "upper": true, "lower": true, "truncate": true,
}

// checkNode walks a template for what could run for long or make much.
func checkNode(n parse.Node, ranging bool) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, child := range n.Nodes {
			if err := checkNode(child, ranging); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		return checkPipe(n.Pipe)
	case *parse.IfNode:
		return checkBranch(&n.BranchNode, ranging)
	case *parse.WithNode:
		return checkBranch(&n.BranchNode, ranging)
	case *parse.RangeNode:
		if ranging {
			return errors.New("range within range is not allowed")
		}
		if text := n.Pipe.String(); !strings.HasSuffix(text, ".Labels") || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
			return fmt.Errorf("range over %s is not allowed, only over .Labels", text)
		}
		return checkBranch(&n.BranchNode, true)
	case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
	default:
		return fmt.Errorf("%s is not allowed", n)
	}
	return nil
}

func checkBranch(n *parse.BranchNode, ranging bool) error {
	if err := checkPipe(n.Pipe); err != nil {
		return err
	}
	if err := checkNode(n.List, ranging); err != nil {
		return err
	}
	return checkNode(n.ElseList, ranging)
}

func checkPipe(p *parse.PipeNode) error {
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			switch arg := arg.(type) {
			case *parse.IdentifierNode:
				if !allowed[arg.Ident] {
					return fmt.Errorf("the function %s is not allowed", arg.Ident)
				}
			case *parse.PipeNode:
				if err := checkPipe(arg); err != nil {
					return err
				}
			case *parse.ChainNode:
				if inner, ok := arg.Node.(*parse.PipeNode); ok {
					if err := checkPipe(inner); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

var errFull = errors.New("the text is as long as it may be")

// limited keeps the first bytes of a text.
type limited struct {
	strings.Builder
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.Len()
	if len(p) <= room {
		return l.Builder.Write(p)
	}
	l.Builder.Write(p[:room])
	return room, errFull
}

// Render makes a subject, which is one line, and a body. What is longer than [MaxSubject] or
// [MaxBody] is cut off and ends with an ellipsis.
func (t *Template) Render(d TemplateData) (subject, body string, err error) {
	if subject, err = render(t.subject, MaxSubject, d); err != nil {
		return "", "", err
	}
	if body, err = render(t.body, MaxBody, d); err != nil {
		return "", "", err
	}
	return strings.Join(strings.Fields(subject), " "), strings.TrimSpace(body), nil
}

const ellipsis = "…"

func render(t *template.Template, most int, d TemplateData) (string, error) {
	out := limited{most: most - len(ellipsis)}
	err := t.Execute(&out, d)
	text := strings.ToValidUTF8(out.String(), "")
	switch {
	case errors.Is(err, errFull):
		return text + ellipsis, nil
	case err != nil:
		return "", fmt.Errorf("alerting: %w", err)
	}
	return text, nil
}
