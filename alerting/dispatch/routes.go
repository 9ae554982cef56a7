package dispatch

import (
	"fmt"
	"maps"
	"slices"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/fault"
)

// completeRoutes adds the default rows and checks the names: each must be known or that of a channel, so that typing errors are found.
func completeRoutes(r alerting.Routes, channels map[string]alerting.Channel) (alerting.Routes, error) {
	full := alerting.DefaultRoutes()
	maps.Copy(full, r)
	for severity, names := range full {
		if !severity.Valid() {
			return nil, fmt.Errorf("dispatch: Options.Routes: %v is not a severity", severity)
		}
		for i, name := range names {
			if channels[name] == nil && !slices.Contains(alerting.KnownChannels(), name) {
				return nil, fmt.Errorf("dispatch: Options.Routes: %v names the unknown channel %q", severity, name)
			}
			if slices.Contains(names[:i], name) {
				return nil, fmt.Errorf("dispatch: Options.Routes: %v names the channel %q twice", severity, name)
			}
		}
	}
	return full, nil
}

// missingChannels returns the channels that routes name and that have no settings, by name.
func missingChannels(r alerting.Routes, channels map[string]alerting.Channel) []string {
	var names []string
	for _, row := range r {
		for _, name := range row {
			if channels[name] == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkUnrouted returns an error for a channel that would be silent without anybody having said so, and for one of which both is said.
func checkUnrouted(r alerting.Routes, channels map[string]alerting.Channel, unrouted []string) error {
	routed := make(map[string]bool)
	for _, row := range r {
		for _, name := range row {
			routed[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		if !routed[name] && !slices.Contains(unrouted, name) {
			return fault.Option("dispatch", "Options.Routes", "must name the channel %q, or Options.Unrouted must", name)
		}
	}
	for _, name := range unrouted {
		if routed[name] {
			return fault.Option("dispatch", "Options.Unrouted", "must not name the channel %q, which is in Options.Routes", name)
		}
	}
	return nil
}
