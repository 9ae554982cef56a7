package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Period is the length of the intervals of an aggregate: a number of units. The zero Period is not valid.
type Period struct {
	N    int
	Unit string // ms, s, m (minutes), h, d, w, mo (months), y
}

var units = []struct {
	name   string
	length time.Duration // 0 for those of the calendar only
}{
	{"ms", time.Millisecond}, {"mo", 0}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 0},
}

// ParsePeriod reads a period such as 500ms, 15s, 10m, 1h, 1d, 1w, 3mo, 1y.
func ParsePeriod(text string) (Period, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(digits)
		p := Period{n, u.name}
		if err == nil && p.valid() {
			return p, nil
		}
		break
	}
	return Period{}, fmt.Errorf("period %.40q is not a number and one of ms, s, m, h, d, w, mo, y", text)
}

// String returns what ParsePeriod reads.
func (p Period) String() string { return strconv.Itoa(p.N) + p.Unit }

// maxPeriod is longer than any range, and keeps sums of periods within what a time.Duration holds.
const maxPeriod = 100 * 366 * 24 * time.Hour

func (p Period) valid() bool {
	for _, u := range units {
		if u.name == p.Unit {
			length := u.length
			if length == 0 {
				length = 366 * 24 * time.Hour
			}
			return p.N >= 1 && time.Duration(p.N) <= maxPeriod/length
		}
	}
	return false
}

// length returns how long a period is without a calendar, 0 for months and years.
func (p Period) length() time.Duration {
	for _, u := range units {
		if u.name == p.Unit {
			return time.Duration(p.N) * u.length
		}
	}
	return 0
}

// next returns the end of the interval that t is in. Without a zone intervals begin at origin. In a zone those of the calendar
// begin with its days, weeks (on Monday), months or years, and shorter ones at midnight, the last of a day being cut short.
func (p Period) next(origin, t time.Time, zone *time.Location) time.Time {
	if zone == nil {
		l := p.length()
		return origin.Add((t.Sub(origin)/l + 1) * l)
	}
	local := t.In(zone)
	y, m, d := local.Date()
	switch p.Unit {
	case "y":
		return midnight((y/p.N+1)*p.N, time.January, 1, zone)
	case "mo":
		months := y*12 + int(m) - 1
		months = (months/p.N + 1) * p.N
		return midnight(months/12, time.Month(months%12+1), 1, zone)
	case "w":
		back := (int(origin.In(zone).Weekday()) + 6) % 7 // days since Monday
		return days(origin, t, zone, 7*p.N, back)
	case "d":
		return days(origin, t, zone, p.N, 0)
	}
	from, end := midnight(y, m, d, zone), midnight(y, m, d+1, zone)
	l := p.length()
	if next := from.Add((t.Sub(from)/l + 1) * l); next.Before(end) {
		return next
	}
	return end
}

// days returns the end of an interval of n days, counted from so many days before that of origin.
func days(origin, t time.Time, zone *time.Location, n, back int) time.Time {
	oy, om, od := origin.In(zone).Date()
	y, m, d := t.In(zone).Date()
	first := time.Date(oy, om, od-back, 0, 0, 0, 0, time.UTC)
	passed := int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Sub(first) / (24 * time.Hour))
	return midnight(oy, om, od-back+(passed/n+1)*n, zone)
}

// midnight returns when a day begins: where the clocks go forward at midnight it begins later, and where midnight is
// twice it begins with the first.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	ny, nm, nd := noon.Date()
	isDay := func(t time.Time) bool {
		ty, tm, td := t.In(zone).Date()
		return ty == ny && tm == nm && td == nd
	}
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if !isDay(t) { // there is no midnight: the day begins with the new offset
		_, change := t.ZoneBounds()
		return change.In(zone)
	}
	if change, _ := t.ZoneBounds(); !change.IsZero() && t.Sub(change) < 3*time.Hour {
		_, before := change.Add(-1).In(zone).Zone()
		_, after := t.Zone()
		if earlier := t.Add(time.Duration(after-before) * time.Second); earlier.Before(change) && isDay(earlier) {
			return earlier
		}
	}
	return t
}
