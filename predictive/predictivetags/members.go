package predictivetags

import (
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/tags"
)

// member is one tag of a target. value is called with results that have a prediction.
type member struct {
	name, unit, description string
	kind                    monitor.Kind
	dataType                tags.DataType
	limited                 bool // from 0 to 1
	value                   func(monitor.Result) tags.Value
}

const failing = "failing"

var members = []member{
	{name: "failureProbability", kind: monitor.Failure, dataType: tags.Float, limited: true, description: "Probability of a failure within the horizon",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.Failure.FailureProbability) }},
	{name: failing, kind: monitor.Failure, dataType: tags.Bool, description: "Enough of the last predictions were of a failure", value: isFailing},
	{name: "confidence", kind: monitor.Failure, dataType: tags.Float, limited: true, description: "Confidence of the failure prediction",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.Failure.Confidence) }},
	{name: "rulDays", kind: monitor.RUL, dataType: tags.Int, unit: "d", description: "Remaining useful life",
		value: func(r monitor.Result) tags.Value { return tags.IntValue(int64(r.RUL.RULDays)) }},
	{name: "rulLowDays", kind: monitor.RUL, dataType: tags.Float, unit: "d", description: "Lower limit of the remaining useful life",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.RUL.LowDays) }},
	{name: "healthScore", kind: monitor.RUL, dataType: tags.Float, limited: true, description: "Remaining life by the longest one that is predicted",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.RUL.HealthScore) }},
	{name: failing, kind: monitor.RUL, dataType: tags.Bool, description: "Enough of the last remaining lives were short", value: isFailing},
	{name: "confidence", kind: monitor.RUL, dataType: tags.Float, limited: true, description: "Confidence of the remaining life",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.RUL.Confidence) }},
	{name: "anomalyScore", kind: monitor.Anomaly, dataType: tags.Float, limited: true, description: "How far the newest sample is from normal",
		value: func(r monitor.Result) tags.Value { return tags.FloatValue(r.Anomaly.AnomalyScore) }},
	{name: "anomaly", kind: monitor.Anomaly, dataType: tags.Bool, description: "The newest sample is anomalous",
		value: func(r monitor.Result) tags.Value { return tags.BoolValue(r.Anomaly.IsAnomaly) }},
}

func isFailing(r monitor.Result) tags.Value { return tags.BoolValue(r.State == monitor.Failing) }

// place is where the tags of a target are: its kind, and the address without the member.
type place struct {
	kind monitor.Kind
	name string
}

func placeOf(t monitor.Target) place {
	if t.Kind == monitor.Anomaly {
		return place{t.Kind, t.Name}
	}
	return place{t.Kind, t.Equipment + "." + t.Name}
}

// Tags returns the tags of results by name, those of the same name once. Results for which no model has been trained have none.
func Tags(results []monitor.Result) []tags.Tag {
	targets := make([]monitor.Target, 0, len(results))
	for _, r := range results {
		if hasTags(r) {
			targets = append(targets, r.Target)
		}
	}
	return tagsFor(targets)
}

// TagsOf returns the tags of targets by name, those of the same name once.
func TagsOf(targets []monitor.Target) []tags.Tag { return tagsFor(slices.Clone(targets)) }

func hasTags(r monitor.Result) bool { return !errors.Is(r.Err, predictive.ErrModelNotAvailable) }

func tagsFor(targets []monitor.Target) (list []tags.Tag) {
	slices.SortFunc(targets, monitor.Target.Compare)
	known := make(map[string]bool)
	for _, t := range targets {
		for _, tag := range tagsOf(t) {
			if !known[tag.Name] {
				known[tag.Name] = true
				list = append(list, tag)
			}
		}
	}
	slices.SortFunc(list, func(a, b tags.Tag) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// tagsOf returns the tags of a target; those with an invalid name are omitted.
func tagsOf(t monitor.Target) []tags.Tag {
	var list []tags.Tag
	at := placeOf(t)
	for i := range members {
		m := &members[i]
		if m.kind != at.kind {
			continue
		}
		address := at.name + "." + m.name
		tag := tags.Tag{Name: DriverID + "." + address, Driver: DriverID, Address: address, DataType: m.dataType, Access: tags.ReadOnly, Unit: m.unit,
			Description: m.description + " of " + t.Name}
		if m.limited {
			tag.Min, tag.Max = tags.Ptr(0), tags.Ptr(1)
		}
		if tag.Validate() == nil {
			list = append(list, tag)
		}
	}
	return list
}

// parse returns the places that an address may mean, each with its member; none for an address that is none.
func parse(address string) (places []place, list []*member) {
	dot := strings.LastIndexByte(address, '.')
	if dot <= 0 {
		return nil, nil
	}
	for i := range members {
		if m := &members[i]; m.name == address[dot+1:] {
			places, list = append(places, place{m.kind, address[:dot]}), append(list, m)
		}
	}
	return places, list
}
