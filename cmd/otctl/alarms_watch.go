package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/openapi/client"
)

func watchAlarmsCommand() command {
	var (
		filter alarmFilter
		count  int
	)
	return command{name: "alarms watch", about: "Print the open alarms, and then what happens to alarms, as it happens",
		flags: func(f *flag.FlagSet) {
			filter.addFlags(f)
			f.IntVar(&count, "count", 0, "end after `N` lines")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			w := &alarmWatcher{watcher: watcher{c: c, left: count}, filter: &filter, early: map[string]bool{},
				list: func() ([]client.AlarmInfo, error) {
					list, _, err := filter.fetch(ctx, conn, "all", 0)
					return list, err
				}}
			return c.follow(ctx, w.missing, func(ctx context.Context) (*http.Response, error) { return conn.openHub(ctx, "Alarms", w.position) },
				func(data []byte) error { return hubMessages(data, w.message) })
		}}
}

// maxEarly bounds the alarms that are remembered because they come again.
const maxEarly = 10_000

// alarmWatcher prints the open alarms and each transition behind them, also over lost connections.
type alarmWatcher struct {
	watcher
	filter   *alarmFilter
	list     func() ([]client.AlarmInfo, error)
	listed   bool
	position string          // of the last transition
	gone     bool            // the engine did not have what came behind the position
	early    map[string]bool // printed before they could be stored
}

// errPositionGone ends a connection to begin anew.
var errPositionGone = errors.New("the engine does not have every transition behind the last one here")

func (w *alarmWatcher) missing() string {
	if w.gone {
		w.gone = false
		return "what happened in between is missing here; the open alarms follow"
	}
	return "nothing is missing"
}

func (w *alarmWatcher) message(m hubMessage) (err error) {
	switch {
	case m.Type == hubCompletion && strings.HasPrefix(m.Error, "POSITION_GONE"):
		w.position, w.listed, w.gone = "", false, true
		return errPositionGone
	case m.Type == hubCompletion && m.Error != "":
		return errors.New(m.Error)
	case m.Type == hubCompletion:
		err = w.begin(m.Result)
	case m.Type == hubInvocation && m.Target == "alarms" && len(m.Arguments) == 1:
		err = w.transitions(m.Arguments[0])
	}
	if err != nil {
		return err
	}
	if err := w.c.out.Flush(); err != nil {
		return &localError{err}
	}
	return nil
}

// begin prints the open alarms, the oldest first, when the stream has begun: what happens meanwhile waits in it.
func (w *alarmWatcher) begin(result json.RawMessage) error {
	var answer struct{ Position string }
	if err := json.Unmarshal(result, &answer); err != nil {
		return err
	}
	if w.listed {
		return nil
	}
	open, err := w.list()
	if err != nil {
		return err
	}
	w.position, w.listed = answer.Position, true
	slices.SortStableFunc(open, func(a, b client.AlarmInfo) int { return a.TriggeredAt.Compare(b.TriggeredAt) })
	for _, a := range open {
		if err := w.print(transition{Kind: "open", At: a.TriggeredAt.Format(time.RFC3339Nano), Code: a.Code, Alarm: &a}, alarmState(a)); err != nil {
			return err
		}
	}
	return nil
}

func (w *alarmWatcher) transitions(raw json.RawMessage) error {
	var batch struct {
		Position string
		Items    []transition
	}
	if err := json.Unmarshal(raw, &batch); err != nil {
		return err
	}
	for _, t := range batch.Items {
		if w.selects(t) && !w.again(t) {
			if err := w.print(t, words(t.Kind)); err != nil {
				return err
			}
		}
		if t.Position != "" {
			w.position = t.Position
		}
	}
	return nil
}

// again reports whether a transition was printed when it could not be stored yet.
func (w *alarmWatcher) again(t transition) bool {
	if t.Alarm == nil {
		return false
	}
	key := t.Kind + " " + t.Alarm.ID
	if t.Position != "" {
		defer delete(w.early, key)
		return w.early[key]
	}
	if len(w.early) < maxEarly {
		w.early[key] = true
	}
	return false
}

// selects does what the engine does when it lists alarms.
func (w *alarmWatcher) selects(t transition) bool {
	f := w.filter
	if t.Alarm == nil {
		return f.SeverityFilter == "" && f.Source == "" && f.Text == "" && len(f.labels) == 0
	}
	contains := func(text, part string) bool { return strings.Contains(alarms.FoldCase(text), alarms.FoldCase(part)) }
	if f.SeverityFilter != "" && f.SeverityFilter != string(t.Alarm.Severity) || !contains(t.Alarm.Source, f.Source) || !contains(t.Alarm.Message, f.Text) {
		return false
	}
	for _, label := range f.labels {
		name, value, _ := strings.Cut(label, "=")
		if got, ok := t.Alarm.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// words returns the kind of a transition as words, such as "out of service".
func words(kind string) string {
	var b strings.Builder
	for _, r := range kind {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

func (w *alarmWatcher) print(t transition, state string) error {
	var err error
	if w.c.output == "json" {
		err = w.c.jsonLine(t)
	} else {
		a := client.AlarmInfo{ID: "-", Source: fmt.Sprint("code ", t.Code)}
		if t.Alarm != nil {
			a = *t.Alarm
		}
		at := t.At
		if parsed, err := time.Parse(time.RFC3339Nano, at); err == nil {
			at = local(parsed)
		}
		err = w.row(at, string(a.Severity), state, a.Source, a.ID, a.Message+byWhom(t))
	}
	if err != nil {
		return &localError{err}
	}
	if w.left--; w.left == 0 {
		return errEnough
	}
	return nil
}

// byWhom tells who did it, and why.
func byWhom(t transition) string {
	switch {
	case t.By == "":
		return ""
	case t.Comment == "":
		return " (" + t.By + ")"
	}
	return " (" + t.By + ": " + t.Comment + ")"
}
