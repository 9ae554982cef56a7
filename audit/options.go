package audit

import (
	"errors"
	"log/slog"
	"time"
)

// Options of a [Log]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards

	MaxAge     time.Duration // age at which entries are removed; default 400 days, negative for no limit
	MaxEntries int64         // entries beyond which the oldest are removed; default 10 million, negative for no limit
	// TrimInterval is the time between two removals. Default 1 hour.
	TrimInterval time.Duration

	// AppendTimeout bounds the wait for the store. Default 5 s.
	AppendTimeout time.Duration
	// LostAfter is the age at which an act without an outcome counts as [Unknown]. Default 5 min.
	LostAfter time.Duration
	// MaxPending bounds the acts in progress and events not yet stored. Default 1024.
	MaxPending int

	// RefusedPerMinute bounds the entries for [Log.RecordRefused]; what exceeds it is counted in one entry a minute.
	// Default 60.
	RefusedPerMinute int
}

const maxBatch = 256 // entries in one transaction of the store

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"TrimInterval", &o.TrimInterval, time.Hour},
		{"AppendTimeout", &o.AppendTimeout, 5 * time.Second},
		{"LostAfter", &o.LostAfter, 5 * time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < 0 {
			return o, errors.New("audit: Options." + d.name + " must be above 0")
		}
	}
	if o.MaxAge == 0 {
		o.MaxAge = 400 * 24 * time.Hour
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = 10_000_000
	}
	if o.MaxPending == 0 {
		o.MaxPending = 1024
	}
	if o.RefusedPerMinute == 0 {
		o.RefusedPerMinute = 60
	}
	switch {
	case o.MaxAge > 0 && o.MaxAge < time.Hour:
		return o, errors.New("audit: Options.MaxAge must be at least 1 hour, or negative for no limit")
	case o.MaxEntries > 0 && o.MaxEntries < 1000:
		return o, errors.New("audit: Options.MaxEntries must be at least 1000, or negative for no limit")
	case o.MaxPending < 1 || o.MaxPending > 1_000_000:
		return o, errors.New("audit: Options.MaxPending must be 1 to 1,000,000")
	case o.RefusedPerMinute < 1:
		return o, errors.New("audit: Options.RefusedPerMinute must be above 0")
	}
	return o, nil
}
