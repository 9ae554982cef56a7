package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func works(n int) (list []Work) {
	for i := range n {
		list = append(list, Work{Name: fmt.Sprintf("driver/%03d", i)})
	}
	return list
}

func sessions(names ...string) (list []Session) {
	for _, name := range names {
		list = append(list, Session{ID: "s-" + name, Engine: name})
	}
	return list
}

// follow returns the state in which every work is held by whom the plan names.
func follow(s State, target map[string]string) State {
	next := State{Sessions: s.Sessions}
	for _, work := range slices.Sorted(maps.Keys(target)) {
		next.Leases = append(next.Leases, Lease{Work: work, Session: target[work]})
	}
	return next
}

func loads(target map[string]string) map[string]int {
	load := map[string]int{}
	for _, session := range target {
		load[session]++
	}
	return load
}

func moved(before, after map[string]string) (n int) {
	for work, session := range before {
		if after[work] != session {
			n++
		}
	}
	return n
}

func TestWorkIsSpreadEvenlyAndStays(t *testing.T) {
	all := works(100)
	state := State{Sessions: sessions("a", "b", "c")}
	first := plan(all, state, true)
	require.Len(t, first, 100)
	for session, n := range loads(first) {
		require.InDelta(t, 33, n, 1, session)
	}
	require.Equal(t, first, plan(all, follow(state, first), true), "again")

	state = follow(state, first)
	state.Sessions = sessions("a", "c")
	for i := range state.Leases {
		if state.Leases[i].Session == "s-b" {
			state.Leases[i].Session = ""
		}
	}
	without := plan(all, state, false)
	require.Equal(t, map[string]int{"s-a": 50, "s-c": 50}, loads(without))
	require.Equal(t, loads(first)["s-b"], moved(first, without), "what others do stays")

	state = follow(state, without)
	state.Sessions = sessions("a", "b", "c")
	require.Equal(t, without, plan(all, state, false), "an engine that came gets nothing before the engines have settled")
	back := plan(all, state, true)
	for session, n := range loads(back) {
		require.InDelta(t, 33, n, 1, session)
	}
	require.Equal(t, loads(back)["s-b"], moved(without, back), "no more moves than it needs")
}

func TestWorkGoesWhereItCanBeDone(t *testing.T) {
	all := works(30)
	for i := range 20 {
		all[i].Requires = map[string]string{"hall": "north"}
	}
	state := State{Sessions: sessions("a", "b", "c")}
	state.Sessions[0].Labels = map[string]string{"hall": "north", "floor": "1"}
	state.Sessions[1].Unable = map[string]string{"driver/025": "unknown type"}
	target := plan(all, state, true)
	for i := range 20 {
		require.Equal(t, "s-a", target[all[i].Name])
	}
	require.Equal(t, map[string]int{"s-a": 20, "s-b": 5, "s-c": 5}, loads(target))
	require.NotEqual(t, "s-b", target["driver/025"])

	state.Sessions[0].Draining = true
	target = plan(all, follow(state, target), true)
	require.Len(t, target, 10, "nobody else can do what is bound to the north")
	require.Equal(t, map[string]int{"s-b": 5, "s-c": 5}, loads(target))
}

// What people are told agrees with what is planned.
func TestAReasonIsGivenIfAndOnlyIfTheEngineCannot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 2000 {
		w := Work{Name: "driver/1", Requires: map[string]string{}}
		s := Session{ID: "s", Engine: pick("a", "b"), Draining: r.IntN(4) == 0, Labels: map[string]string{"hall": pick("north", "south"), "floor": pick("1", "2")}}
		for _, label := range []string{"hall", "floor", LabelEngine} {
			if r.IntN(2) == 0 {
				w.Requires[label] = pick("north", "1", "a")
			}
		}
		if r.IntN(4) == 0 {
			s.Unable = map[string]string{"driver/1": pick("", "unknown type")}
		}
		require.Equal(t, w.able(&s), w.Hindrance(&s) == "", "%+v %+v", w, s)
	}
}

func TestHeavyWorkIsSpreadByWeight(t *testing.T) {
	all := works(10)
	all[3].Weight = 9
	target := plan(all, State{Sessions: sessions("a", "b")}, true)
	require.ElementsMatch(t, []int{1, 9}, slices.Collect(maps.Values(loads(target))))
}

func TestWorkGoesToWhoAskedLast(t *testing.T) {
	all := works(10)
	state := follow(State{Sessions: sessions("a", "b", "c")}, plan(all, State{Sessions: sessions("a")}, true))
	for i := range state.Leases {
		state.Leases[i].Epoch = 5
	}
	moves := func(why, to string) {
		t.Helper()
		target := plan(all, state, false)
		require.Equal(t, to, target["driver/003"], why)
		require.Equal(t, "s-a", target["driver/004"], "what nobody asks for stays")
	}
	state.Sessions[1].Wants = map[string]uint64{"driver/003": 4}
	moves("it asked for a lease that another engine got", "s-a")
	state.Sessions[2].Wants = map[string]uint64{"driver/003": 5}
	moves("it asks now", "s-c")
	state.Sessions[2].Unable = map[string]string{"driver/003": "unknown type"}
	moves("it cannot do it", "s-a")
	state.Sessions[2].Unable = nil
	state.Leases[3].Session = ""
	moves("nobody does it", "s-c")

	state.Leases[3] = Lease{Work: "driver/003", Session: "s-c", Epoch: 6}
	moves("it has it", "s-c")
	for i := range state.Leases {
		state.Leases[i].Session = "s-c"
	}
	state.Sessions[1].Wants = nil
	require.Equal(t, "s-c", plan(all, state, true)["driver/003"], "it does not move to be spread evenly")
	require.Equal(t, 3, loads(plan(all, state, true))["s-b"])
	state.Sessions[1].Wants = map[string]uint64{"driver/003": 6}
	require.Equal(t, "s-b", plan(all, state, true)["driver/003"], "another engine asks later")
}

// However engines come and go, the plan gives all work to those that can do it, and comes to rest.
func TestPlansComeToRest(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := works(1 + r.IntN(40))
		for i := range all {
			all[i].Weight = r.IntN(5)
			if r.IntN(4) == 0 {
				all[i].Requires = map[string]string{"zone": fmt.Sprint(r.IntN(3))}
			}
		}
		var state State
		for step := range 10 {
			state.Sessions = nil
			for i := range 1 + r.IntN(6) {
				s := Session{ID: fmt.Sprint("s", i), Engine: fmt.Sprint("e", i), Labels: map[string]string{"zone": fmt.Sprint(i % 3)}, Draining: r.IntN(8) == 0}
				state.Sessions = append(state.Sessions, s)
			}
			target := plan(all, state, true)
			for i := range all {
				able := slices.ContainsFunc(state.Sessions, func(s Session) bool { return all[i].able(&s) })
				session, ok := target[all[i].Name]
				require.Equal(t, able, ok, "seed %d step %d", seed, step)
				if ok {
					k := slices.IndexFunc(state.Sessions, func(s Session) bool { return s.ID == session })
					require.True(t, all[i].able(&state.Sessions[k]), "seed %d step %d", seed, step)
				}
			}
			rest := target
			for range len(all) {
				state = follow(state, rest)
				if rest = plan(all, state, true); maps.Equal(rest, target) {
					break
				}
				target = rest
			}
			require.Equal(t, target, plan(all, follow(state, target), true), "seed %d step %d", seed, step)
		}
	}
}

// What stays is moved only if its holder cannot do it any more, and counts as load of the holder.
func TestWorkThatStays(t *testing.T) {
	all := works(10)
	for i := range all {
		all[i].Stays = i < 5
	}
	held := State{Sessions: sessions("a", "b")}
	for _, w := range all {
		held.Leases = append(held.Leases, Lease{Work: w.Name, Session: "s-a"})
	}
	target := plan(all, held, true)
	require.Equal(t, map[string]int{"s-a": 5, "s-b": 5}, loads(target))
	for _, w := range all[:5] {
		require.Equal(t, "s-a", target[w.Name])
	}
	held.Sessions[0].Draining = true
	require.Equal(t, map[string]int{"s-b": 10}, loads(plan(all, held, true)))
}
