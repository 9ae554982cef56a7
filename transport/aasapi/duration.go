package aasapi

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads an xs:duration that is not negative. A month counts 30 days and a year 365. What
// time.Duration cannot hold becomes its largest value.
func parseDuration(text string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(text, "P")
	if !ok {
		return 0, false
	}
	date, clock, timed := strings.Cut(rest, "T")
	if timed && clock == "" || !timed && date == "" {
		return 0, false
	}
	const day = 24 * time.Hour
	days, ok := sumUnits(date, "YMD", []time.Duration{365 * day, 30 * day, day})
	if !ok {
		return 0, false
	}
	times, ok := sumUnits(clock, "HMS", []time.Duration{time.Hour, time.Minute, time.Second})
	if !ok {
		return 0, false
	}
	if sum := days + times; sum < math.MaxInt64 {
		return time.Duration(sum), true
	}
	return math.MaxInt64, true
}

// sumUnits adds numbers with units, each at most once and in their order. Only seconds have a fraction.
func sumUnits(text, units string, lengths []time.Duration) (float64, bool) {
	sum, from := 0.0, 0
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 {
			return 0, false
		}
		unit := strings.IndexByte(units[from:], text[end])
		if unit < 0 {
			return 0, false
		}
		number := text[:end]
		if whole, fraction, has := strings.Cut(number, "."); has &&
			(text[end] != 'S' || whole == "" || fraction == "" || strings.Contains(fraction, ".")) {
			return 0, false
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, false
		}
		sum += n * float64(lengths[from+unit])
		from, text = from+unit+1, text[end+1:]
	}
	return sum, true
}
