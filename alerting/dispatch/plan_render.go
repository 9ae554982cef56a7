package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/otkit/otkit/alerting"
)

// renderMessages is the [planStage] that fills in titles and bodies.
type renderMessages struct {
	templates map[string]*Template // by channel
	log       *slog.Logger
}

func (s renderMessages) plan(_ context.Context, b *planBatch) error {
	for i := range b.add {
		n := &b.add[i].Notification
		if i > 0 {
			// The recipients of a channel get the same text.
			if last := &b.add[i-1].Notification; last.EventID == n.EventID && last.Channel == n.Channel && last.Resolved == n.Resolved {
				n.Title, n.Body = last.Title, last.Body
				continue
			}
		}
		s.render(n)
	}
	return nil
}

// render uses the default template if that of the channel fails: an alarm in other words is better than none.
func (s renderMessages) render(n *alerting.Notification) {
	data := TemplateData{
		ID: n.AlarmID, Title: n.Message, Description: n.Labels[alerting.LabelDescription], Severity: n.Severity.String(),
		Source: n.Source, SourceType: n.SourceType, State: "Firing", Resolved: n.Resolved,
		At: n.At.Format(time.RFC3339), Labels: n.Labels,
	}
	if _, ok := n.Labels[alerting.LabelDescription]; ok {
		data.Labels = maps.Clone(n.Labels)
		delete(data.Labels, alerting.LabelDescription)
	}
	if n.Resolved {
		data.State = "Resolved"
	}
	var err error
	if n.Title, n.Body, err = s.templates[n.Channel].Render(data); err == nil {
		return
	}
	s.log.Warn("template failed; using the default", "channel", n.Channel, "error", err)
	standard, err := CompileTemplate(alerting.TemplateText{})
	if err == nil {
		n.Title, n.Body, err = standard.Render(data)
	}
	if err != nil {
		n.Title, n.Body = n.Message, n.Message
	}
}
