package main_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

// enginesAreShown is about an engine that is alone.
func enginesAreShown(t *testing.T, u *user) {
	text := u.ok("engines", "list")
	require.Regexp(t, `(?m)^NAME +STATE +DOES +CANNOT DO`, text)
	found := regexp.MustCompile(`(?m)^(\S+) +active +device 2, driver \d+ +0 +- +- +yes `).FindStringSubmatch(text)
	require.NotNil(t, found, text)
	require.Regexp(t, `(?m)^driver +sim +0`, u.ok("engines", "get", found[1]))
	u.fails(5, "no other engine is there", "engines", "drain", found[1])
	require.Equal(t, "the engine "+found[1]+" takes its share of the work\n", u.ok("engines", "drain", found[1], "-undo"))
	u.fails(4, `there is no engine "nope"`, "engines", "get", "nope")
	require.Regexp(t, `sim +Simulation +Online +- `, u.ok("drivers", "list"))
	require.Contains(t, u.ok("__complete", "engines", "drain", ""), found[1]+"\t")
}

func TestEnginesOfAPlantAreDrained(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	var two []*engine
	for _, name := range []string{"hall-1", "hall-2"} {
		two = append(two, startWith(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn, "Cluster__Name=" + name,
			"Drivers__0__Id=oven", "Drivers__0__Type=Simulation", "Drivers__1__Id=press", "Drivers__1__Type=Simulation",
			"Drivers__2__Id=mixer", "Drivers__2__Type=Simulation", "Drivers__2__Requires__hall=9"}))
	}
	u := newUser(t, two[0].addr)
	u.login()
	lists := func(pattern string) func() bool {
		return func() bool {
			r := u.run("engines", "list")
			return r.code == 0 && regexp.MustCompile(pattern).MatchString(r.out)
		}
	}
	eventually(t, "the engines do not share the work", lists(`(?s)hall-1 +active +[^\n]*driver \d.*hall-2 +active +[^\n]*driver \d`))
	eventually(t, "it is not told which engine runs a driver", func() bool {
		return regexp.MustCompile(`(?s)oven +Simulation +Online +hall-[12] .*press +Simulation +Online +hall-[12] `).MatchString(u.run("drivers", "list").out)
	})
	require.Equal(t, "no engine does driver mixer: hall-1: it does not have the label hall=9; hall-2: it does not have the label hall=9\n", u.run("engines", "list").err)

	r := u.run("engines", "drain", "hall-2")
	require.Equal(t, result{out: "the engine hall-2 is drained\n"}, r)
	var drained struct {
		Name     string
		Draining bool
	}
	require.NoError(t, json.Unmarshal([]byte(u.ok("engines", "drain", "hall-2", "-o", "json")), &drained), "again")
	require.Equal(t, "hall-2", drained.Name)
	require.True(t, drained.Draining)
	require.Regexp(t, `hall-2 +drained +- `, u.run("engines", "list").out)
	require.Equal(t, "KIND  ID  EPOCH  CANNOT BECAUSE\n", u.ok("engines", "get", "hall-2"))
	u.fails(5, "no other engine is there to take the work over: hall-1 (NO_OTHER_ENGINE)", "engines", "drain", "hall-1")
	r = u.run("engines", "list", "-o", "json")
	var list struct{ Engines []struct{ Draining bool } }
	require.NoError(t, json.Unmarshal([]byte(r.out), &list))
	require.Len(t, list.Engines, 2)
	require.True(t, list.Engines[1].Draining)

	require.Equal(t, "the engine hall-2 takes its share of the work\n", u.ok("engines", "drain", "hall-2", "--undo"))
	eventually(t, "the engine takes no work again", lists(`hall-2 +active +[^\n]*driver \d`))
}
