package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is the time range of the flags -start and -end.
type span struct{ start, end string }

func (s *span) addFlags(f *flag.FlagSet) {
	f.StringVar(&s.start, "start", "", "first `TIME`: 2006-01-02T15:04:05Z, 2006-01-02 15:04, 15:04 (of today), or an age as 90m, 24h or 7d (default: 24 hours before -end)")
	f.StringVar(&s.end, "end", "", "`TIME` after the last (default: now)")
}

// times reads the flags. Without -start it is a day before the end.
func (s *span) times() (start, end time.Time, err error) {
	now := time.Now()
	end = now
	if s.end != "" {
		if end, err = parseTime(s.end, now); err != nil {
			return start, end, usagef("-end: %w", err)
		}
	}
	start = end.Add(-24 * time.Hour)
	if s.start != "" {
		if start, err = parseTime(s.start, now); err != nil {
			return start, end, usagef("-start: %w", err)
		}
	}
	if !start.Before(end) {
		return start, end, usagef("-start is not before -end")
	}
	return start, end, nil
}

// aligned returns the last time up to start at which an interval of at most a day begins by the clock on the wall, and start for another interval.
func aligned(start time.Time, interval string) time.Time {
	d, err := parseDuration(interval)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return start
	}
	_, seconds := start.Local().Zone()
	offset := time.Duration(seconds) * time.Second
	return start.Add(offset).Truncate(d).Add(-offset)
}

// parseTime reads a time, by the zone of the machine where it names none, or an age.
func parseTime(s string, now time.Time) (time.Time, error) {
	if age, err := parseDuration(strings.TrimPrefix(s, "-")); err == nil {
		return now.Add(-age), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, form := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, s, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.ParseInLocation("15:04", s, time.Local); err == nil {
		y, m, d := now.Local().Date()
		return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.Local), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: 2006-01-02T15:04:05Z, 2006-01-02 15:04, 15:04, or an age as 24h or 7d is", s)
}

// parseDuration reads what Go does, and days as 7d.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return d, err
}
