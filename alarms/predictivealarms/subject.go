package predictivealarms

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/predictive/monitor"
)

// Labels of the alarms. The last two are what is failing.
const (
	equipmentLabel = "equipmentId"
	tagsLabel      = "tags"
	componentLabel = "component"
)

// separator is between the tags of a label, of which there are at most maxTags.
const (
	separator = "; "
	maxTags   = 20
	maxShown  = 5 // in a message
)

// subject is what an alarm is about: the tags of an equipment, or a component.
type subject struct {
	kind      monitor.Kind
	equipment string
	component string
}

func subjectOf(t monitor.Target) subject {
	if t.Kind == monitor.RUL {
		return subject{t.Kind, t.Equipment, t.Name}
	}
	return subject{t.Kind, t.Equipment, ""}
}

// prefixes are those of the keys of alarms.
var prefixes = map[monitor.Kind]string{monitor.Failure: FailureKey, monitor.RUL: RULKey, monitor.Anomaly: AnomalyKey}

// key returns the key of the alarm.
func (s subject) key() string {
	key := prefixes[s.kind] + s.equipment
	if s.kind == monitor.RUL {
		key += "/" + s.component
	}
	if limits.Violation(key, 1, maxKey) != "" {
		sum := sha256.Sum256([]byte(key))
		return prefixes[s.kind] + hex.EncodeToString(sum[:])
	}
	return key
}

// maxKey is the longest key and source of an alarm, in characters.
const maxKey = 512

// condition is the alarm of a subject, and what is failing.
type condition struct {
	active  bool
	shown   []string // the names of what was failing when the alarm was raised or updated last
	days    int      // of a remaining life, then
	failing map[string]monitor.Result
}

// stale reports whether the alarm is out of date. A remaining life makes it so only if it is shorter, because it
// varies.
func (c *condition) stale(s subject) bool {
	if !slices.Equal(c.names(), c.shown) {
		return true
	}
	r := c.failing[s.component].RUL
	return s.kind == monitor.RUL && r != nil && r.RULDays < c.days
}

// names returns what is failing.
func (c *condition) names() []string { return slices.Sorted(maps.Keys(c.failing)) }

// targets returns the targets that an active alarm names, by its labels.
func targets(o *alarms.Occurrence) (list []monitor.Target) {
	for kind, prefix := range prefixes {
		if !strings.HasPrefix(o.Key, prefix) {
			continue
		}
		equipment := o.Labels[equipmentLabel]
		if kind == monitor.RUL {
			return []monitor.Target{{Kind: kind, Equipment: equipment, Name: o.Labels[componentLabel]}}
		}
		for _, tag := range strings.Split(o.Labels[tagsLabel], separator) {
			list = append(list, monitor.Target{Kind: kind, Equipment: equipment, Name: tag})
		}
	}
	return list
}

// labels returns the labels of the alarm.
func (c *condition) labels(s subject) map[string]string {
	labels := map[string]string{equipmentLabel: limits.Clip(s.equipment)}
	if s.kind == monitor.RUL {
		labels[componentLabel] = limits.Clip(s.component)
		return labels
	}
	names := c.names()
	labels[tagsLabel] = limits.Clip(strings.Join(names[:min(len(names), maxTags)], separator))
	return labels
}

// message returns the text of the alarm.
func (c *condition) message(s subject) string {
	var parts []string
	list := c.worst()
	for _, name := range list[:min(len(list), maxShown)] {
		parts = append(parts, describe(name, c.failing[name]))
	}
	if more := len(list) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(parts, separator)
	switch s.kind {
	case monitor.Failure:
		return limits.Clip("Failure of " + s.equipment + " predicted" + c.within() + ": " + text)
	case monitor.RUL:
		return limits.Clip("Failure of " + s.component + " of " + s.equipment + " predicted: " + text)
	default:
		return limits.Clip("Anomaly of " + s.equipment + ": " + text)
	}
}

// worst returns the names of what is failing, that with the highest probability or score first.
func (c *condition) worst() []string {
	figure := func(name string) float64 {
		switch r := c.failing[name]; {
		case r.Failure != nil:
			return r.Failure.FailureProbability
		case r.Anomaly != nil:
			return r.Anomaly.AnomalyScore
		}
		return 0
	}
	list := c.names()
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(figure(b), figure(a)) })
	return list
}

// within returns the horizon of failure predictions as a part of a sentence, empty if it is not known.
func (c *condition) within() string {
	for _, r := range c.failing {
		if r.Failure != nil {
			return " within " + days(r.Failure.HorizonHours/24)
		}
	}
	return ""
}

// describe returns the figures of a result.
func describe(name string, r monitor.Result) string {
	switch {
	case r.Failure != nil:
		return fmt.Sprintf("%s %.0f%%", name, 100*r.Failure.FailureProbability)
	case r.Anomaly != nil:
		return fmt.Sprintf("%s is %.6g, expected %.6g to %.6g", name, r.Anomaly.CurrentValue, r.Anomaly.ExpectedRange.Min, r.Anomaly.ExpectedRange.Max)
	case r.RUL != nil:
		left := r.RUL.PredictedFailureDate.Sub(r.RUL.PredictedAt).Hours() / 24
		return fmt.Sprintf("%s left, %s to %s likely. %s", days(left), days(r.RUL.LowDays), days(r.RUL.HighDays), r.RUL.Recommendation)
	default:
		return name
	}
}

// days returns a number of days as a text, in hours if there are less than two.
func days(n float64) string {
	if n < 2 {
		return fmt.Sprintf("%.0f hours", 24*n)
	}
	return fmt.Sprintf("%.0f days", n)
}
