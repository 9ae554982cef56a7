package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func watchTagsCommand() command {
	var (
		throttle time.Duration
		deadband float64
		count    int
	)
	return command{name: "tags watch", args: "NAME|PATTERN...", about: "Print values as they change; a pattern has * or ?", least: 1, most: -1, takes: []string{"tag"},
		flags: func(f *flag.FlagSet) {
			f.DurationVar(&throttle, "throttle", 100*time.Millisecond, "shortest time between two changes of a tag; only the newest is printed")
			f.Float64Var(&deadband, "deadband", 0, "omit numbers that differ by less from the last one")
			f.IntVar(&count, "count", 0, "end after `N` lines")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			ms := int(throttle.Milliseconds())
			params := client.StreamTagsParams{ThrottleMs: &ms, Deadband: deadband}
			for _, arg := range args {
				if strings.ContainsAny(arg, "*?") {
					params.Patterns = append(params.Patterns, strings.ReplaceAll(like(arg), ",", `\,`))
				} else {
					params.TagNames = append(params.TagNames, arg)
				}
			}
			w := watcher{c: c, left: count}
			return c.follow(ctx, func() string { return "changes in between may be missing here; see otctl tags history" },
				func(ctx context.Context) (*http.Response, error) { return conn.StreamTags(ctx, &params) }, w.event)
		}}
}

// watcher prints changes, each in a line.
type watcher struct {
	c      *cli
	left   int   // lines until the end; 0 for no end
	widths []int // of the columns
}

func (w *watcher) event(data []byte) error {
	var event struct{ Changes []json.RawMessage }
	if err := json.Unmarshal(data, &event); err != nil {
		return err
	}
	for _, raw := range event.Changes {
		var t client.TagChange
		if err := json.Unmarshal(raw, &t); err != nil {
			return err
		}
		w.widen(local(t.Timestamp), t.TagName, valueText(t.NewValue))
	}
	for _, raw := range event.Changes {
		if err := w.change(raw); err != nil {
			return &localError{err}
		}
		if w.left--; w.left == 0 {
			return errEnough
		}
	}
	if err := w.c.out.Flush(); err != nil {
		return &localError{err}
	}
	return nil
}

func (w *watcher) change(raw json.RawMessage) error {
	if w.c.output == "json" {
		return w.c.jsonLine(raw)
	}
	var t client.TagChange
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	return w.row(local(t.Timestamp), t.TagName, valueText(t.NewValue), string(t.Quality))
}

// widen makes the columns as wide as cells that are yet to be printed, within reason.
func (w *watcher) widen(cells ...string) {
	for i, cell := range cells {
		if i == len(w.widths) {
			w.widths = append(w.widths, 1)
		}
		w.widths[i] = max(w.widths[i], min(width(plain(cell)), 50))
	}
}

// row prints a line whose columns are as wide as the widest cell so far.
func (w *watcher) row(cells ...string) error {
	w.widen(cells[:len(cells)-1]...)
	var line strings.Builder
	for i, cell := range cells {
		if cell = plain(cell); cell == "" {
			cell = "-"
		}
		line.WriteString(cell)
		if i < len(cells)-1 {
			line.WriteString(strings.Repeat(" ", max(0, w.widths[i]-width(cell))+2))
		}
	}
	_, err := fmt.Fprintln(w.c.out, line.String())
	return err
}
