package alertingpart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/transport/health"
)

// check is Degraded while alarms are not dispatched, a channel fails or waits after failures, or
// there are dead letters. Anybody may read the result: it names channels and figures, never recipients or
// what a peer answered, which /api/v1/alerting/channels has.
func (p *Alerting) check(ctx context.Context) health.Result {
	if p.dispatcher.Err() != nil { // it has logged why
		return health.Result{Status: health.Degraded, Description: "not dispatching: channels are not told of alarms, since the store cannot be used"}
	}
	dead, err := p.dispatcher.CountDeadLetters(ctx)
	if err != nil {
		return health.Result{Status: health.Degraded, Description: "dead letters cannot be counted, since the store cannot be used"}
	}
	r := alertingResult(p.dispatcher.Channels(), dead)
	if sum, _, err := p.silences.Summary(ctx); err == nil && sum.Broad+sum.Long > 0 {
		r.Data["silences"] = fmt.Sprintf("%d active: %d match every alarm, %d last for more than a day, %d were made without a token",
			sum.Active, sum.Broad, sum.Long, sum.Anonymous)
	}
	return r
}

// alertingResult judges the channels by their figures.
func alertingResult(channels []alerting.ChannelStatus, dead map[string]outbox.DeadLetterCount) health.Result {
	r := health.Result{Status: health.Healthy, Data: make(map[string]any, len(channels))}
	var failing, paused []string
	letters := 0
	for _, c := range channels {
		figures := map[string]any{"sent": c.Sent, "failedAttempts": c.Failed, "recipients": c.Recipients, "failingRecipients": c.Failing, "deadLetters": dead[c.Name].Count}
		switch {
		case !c.PausedUntil.IsZero():
			figures["pausedUntil"] = c.PausedUntil.UTC().Format(time.RFC3339)
			paused = append(paused, c.Name)
		case c.Failing > 0:
			failing = append(failing, c.Name)
		}
		r.Data[c.Name] = figures
	}
	for _, name := range slices.Sorted(maps.Keys(dead)) {
		letters += dead[name].Count
		if r.Data[name] == nil { // a channel that has no settings any more
			r.Data[name] = map[string]any{"deadLetters": dead[name].Count}
		}
	}
	var lacks []string
	for _, l := range []struct {
		format string
		names  []string
	}{{"failing: %s", failing}, {"paused after failures: %s", paused}} {
		if len(l.names) > 0 {
			lacks = append(lacks, fmt.Sprintf(l.format, strings.Join(l.names, ", ")))
		}
	}
	if letters > 0 {
		lacks = append(lacks, fmt.Sprintf("dead letters: %d", letters))
	}
	if len(lacks) == 0 {
		r.Description = fmt.Sprintf("%d channels, none failing", len(channels))
		return r
	}
	r.Status, r.Description = health.Degraded, strings.Join(lacks, "; ")
	return r
}
