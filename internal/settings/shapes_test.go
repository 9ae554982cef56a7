package settings_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/settings"
)

type word string

type route struct {
	Name  word `key:"name"`
	Retry struct {
		Waits []time.Duration `key:"waits"`
		Small int8            `key:"small"`
	} `key:"retry"`
	Targets []struct {
		Host string          `key:"host"`
		Keys []string        `key:"keys" secret:"true"`
		Free json.RawMessage `key:"free"`
	} `key:"targets"`
}

// shapes has every kind of setting, also within one another.
type shapes struct {
	Top    uint16          `key:"top" env:"TOP" doc:"a|b"`
	Ratio  float32         `key:"ratio"`
	Free   json.RawMessage `key:"free"`
	Groups struct {
		Counts []int   `key:"counts"`
		Flags  []bool  `key:"flags"`
		Routes []route `key:"routes"`
	} `key:"groups"`
}

func TestEveryShape(t *testing.T) {
	var defaults shapes
	defaults.Free = json.RawMessage(`{"Kept": 1, "Changed": "a"}`)
	defaults.Groups.Counts = []int{1, 2}
	s, warnings, err := settings.Load(defaults, settings.Options{
		File: write(t, "a.yaml", `
top: 65535
groups:
  flags: [true, false]
  routes:
    - {name: one, targets: [{host: a}, {host: b, keys: [geheim], free: {x: {y: 1}}}]}
    - {name: two, retry: {waits: [1s, 2m], small: -128}}
`),
		Environ: []string{
			"TOP=7", "Free__CHANGED=b", "Groups__Counts=3,-4", "GROUPS__ROUTES__0__TARGETS__1__FREE__X__Y=2", "groups__routes__1__targets__0__host=c",
			"Groups__Routes__1__Retry__Waits__2=3h", "Ratio__X=1",
		},
	})
	require.NoError(t, err)
	require.Equal(t, []settings.Warning{{Name: "Ratio__X"}}, warnings)
	require.EqualValues(t, 7, s.Top)
	require.JSONEq(t, `{"Kept": 1, "Changed": "b"}`, string(s.Free))
	require.Equal(t, []int{3, -4}, s.Groups.Counts)
	require.Equal(t, []bool{true, false}, s.Groups.Flags)
	require.Len(t, s.Groups.Routes, 2)
	one, two := s.Groups.Routes[0], s.Groups.Routes[1]
	require.Equal(t, word("one"), one.Name)
	require.Equal(t, "a", one.Targets[0].Host)
	require.JSONEq(t, `{"x": {"y": 2}}`, string(one.Targets[1].Free))
	require.Equal(t, []time.Duration{time.Second, 2 * time.Minute, 3 * time.Hour}, two.Retry.Waits)
	require.EqualValues(t, -128, two.Retry.Small)
	require.Equal(t, "c", two.Targets[0].Host)

	text := printed(t, s, nil)
	require.NotContains(t, text, "geheim")
	require.Contains(t, text, "waits: [1s, 2m, 3h]")

	var reference bytes.Buffer
	require.NoError(t, settings.Reference(&reference, defaults))
	require.Contains(t, reference.String(), "| `top` | `TOP` | integer | `0` | a\\|b |\n")
	require.Contains(t, reference.String(), "| `groups.routes[].targets[].keys` | `Groups__Routes__0__Targets__0__Keys` | list of text |  |  |\n")
	require.Contains(t, reference.String(), "| `groups.counts` | `Groups__Counts` | list of integer | `1,2` |  |\n")
}

func TestRangesOfTypes(t *testing.T) {
	for text, want := range map[string]string{
		"top: 65536":  "top is out of range: 65536",
		"top: -1":     "top must be a whole number from 0, not the number -1",
		"ratio: 1e39": "ratio is out of range: 1e+39",
		"groups: {routes: [{retry: {small: 128}}]}":     "groups.routes[0].retry.small is out of range: 128",
		"groups: {routes: [{retry: {waits: [1s, 5]}}]}": `groups.routes[0].retry.waits[1] must be a duration such as "30s" or "1h30m", not the number 5`,
		"groups: {routes: [{targets: [{hst: x}]}]}":     "groups.routes[0].targets[0].hst is not a known setting; did you mean groups.routes[0].targets[0].host?",
	} {
		path := write(t, "a.yaml", text)
		_, _, err := settings.Load(shapes{}, settings.Options{File: path})
		require.EqualError(t, err, "settings are not valid: "+want+" (file "+path+")")
	}
}
