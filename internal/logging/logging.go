// Package logging makes the log of a server.
package logging

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a log. The zero Options log text at the level info.
type Options struct {
	Level slog.Leveler // lowest level that is logged; a *slog.LevelVar can be changed while the log is in use
	JSON  bool         // JSON instead of text
}

// New returns a log that writes to out. Warnings and errors that repeat are written at most once a minute, with the number of repetitions.
// If out is a [Batch], lines of requests may wait in it.
func New(out io.Writer, o Options) *slog.Logger {
	if _, ok := out.(*Batch); !ok {
		out = &locked{out: out}
	}
	options := &slog.HandlerOptions{Level: o.Level}
	var h slog.Handler = slog.NewTextHandler(out, options)
	if o.JSON {
		h = slog.NewJSONHandler(out, options)
	}
	return slog.New(&handler{Handler: h, seen: &repeats{last: make(map[string]*repeat), now: time.Now}, out: out, json: o.JSON})
}

// locked is a writer for lines of slog and of requests.
type locked struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

const (
	repeatInterval = time.Minute // in which the same warning is written once
	maxRepeats     = 1000        // different warnings that are remembered
)

// handler writes the same warning at most once in repeatInterval, with the number of repetitions since. Warnings are the same if all
// but their counts and times are.
type handler struct {
	slog.Handler
	with string // what the logger adds to each record
	seen *repeats
	out  io.Writer // safe for concurrent use
	json bool
}

type repeats struct {
	now  func() time.Time
	mu   sync.Mutex
	last map[string]*repeat
}

type repeat struct {
	written time.Time
	omitted int // records since then
}

// withReadableDurations returns a record whose durations are text with a unit: JSON would have a number without
// one. HandlerOptions.ReplaceAttr would cost a call for every attribute of every line.
func withReadableDurations(r slog.Record) slog.Record {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		found = a.Value.Kind() == slog.KindDuration
		return !found
	})
	if !found {
		return r
	}
	readable := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		readable.AddAttrs(readableDuration(a))
		return true
	})
	return readable
}

func readableDuration(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	r = withReadableDurations(r)
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	omitted, write := h.seen.note(h.key(r))
	if !write {
		return nil
	}
	if omitted > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", omitted))
	}
	return h.Handler.Handle(ctx, r)
}

func (h *handler) key(r slog.Record) string {
	var b strings.Builder
	b.WriteString(h.with + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "attempt", "next", "retryIn", "waiting", "dropped":
		default:
			b.WriteString("\x00" + a.Key + "=" + a.Value.String())
		}
		return true
	})
	return b.String()
}

// note reports whether a record is to be written, and how many like it were not.
func (s *repeats) note(key string) (omitted int, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	r := s.last[key]
	if r != nil && now.Sub(r.written) < repeatInterval && !now.Before(r.written) {
		r.omitted++
		return 0, false
	}
	if r != nil {
		omitted = r.omitted
	} else if len(s.last) >= maxRepeats {
		clear(s.last)
	}
	s.last[key] = &repeat{written: now}
	return omitted, true
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := h.with
	attrs = slices.Clone(attrs)
	for i, a := range attrs {
		attrs[i] = readableDuration(a)
		with += a.Key + "=" + a.Value.String() + "\x00"
	}
	return &handler{h.Handler.WithAttrs(attrs), with, h.seen, h.out, h.json}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.with + name + "\x00", h.seen, h.out, h.json}
}
