package rules_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// doubtful is a store that is lost at a commit, so that nobody knows what has become of it.
type doubtful struct {
	memory
	dead, atCommit, stores atomic.Bool
}

// loseOne has the store answer until its next commit, after which it is lost again.
func (s *doubtful) loseOne(stored bool) {
	s.stores.Store(stored)
	s.atCommit.Store(true)
	s.dead.Store(false)
}

func (s *doubtful) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.dead.Load() {
		return errLost
	}
	lost := false
	err := s.memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		changes, err := change(next, found)
		if err == nil && s.atCommit.CompareAndSwap(true, false) {
			s.dead.Store(true)
			if lost = true; !s.stores.Load() {
				err = errLost
			}
		}
		return changes, err
	})
	if lost {
		return errLost
	}
	return err
}

// TestTransitionsWhoseStoringIsInDoubt has a raise and a clear given to a store that is lost at the commit.
// They are told once, whatever has become of them, and so is what follows them.
func TestTransitionsWhoseStoringIsInDoubt(t *testing.T) {
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &doubtful{memory: newMemory()}
				require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
				p := &plant{t: t, service: service(t, store, alarms.Options{})}
				sub, err := p.service.Subscribe(alarms.SubscribeOptions{All: true})
				require.NoError(t, err)
				defer sub.Close()
				p.rules, err = rules.New(t.Context(), store, p.service, rules.Options{})
				require.NoError(t, err)
				defer func() { require.NoError(t, p.rules.Close(t.Context())) }()
				store.dead.Store(true)
				p.set(90)
				pass(100 * time.Millisecond)
				p.set(70)
				synctest.Wait()
				store.loseOne(stored)
				pass(5 * time.Second)
				require.ErrorIs(t, p.rules.Stats().Err, errLost)
				p.set(90)
				pass(5 * time.Second)
				store.dead.Store(false)
				pass(5 * time.Second)
				want := []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised}
				require.Equal(t, want, p.kinds())
				require.EqualValues(t, 3, p.rules.Stats().Transitions)
				require.NoError(t, p.rules.Stats().Err)
				events, err := sub.Next(t.Context(), 0)
				require.NoError(t, err)
				require.Len(t, events, 3, "subscribers hear of each once")
			})
		})
	}
}

// TestCodesWhileNothingCanBeStored asks for codes that are there, and for one that is not.
func TestCodesWhileNothingCanBeStored(t *testing.T) {
	store := newMemory()
	s := service(t, store, alarms.Options{})
	codes, err := s.Codes(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	lost := &doubtful{memory: store}
	lost.dead.Store(true)
	s = service(t, lost, alarms.Options{})
	again, err := s.Codes(t.Context(), []string{"a", "b", "a"})
	require.NoError(t, err)
	require.Equal(t, codes, again)
	_, err = s.Codes(t.Context(), []string{"a", "c"})
	require.ErrorIs(t, err, errLost)
}

// TestAlarmOfATagThatAnotherEngineHasLost removes a tag from one of two engines that both judge it.
func TestAlarmOfATagThatAnotherEngineHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := following(t, 2, rule(rules.High, nil))
		here, there := two[0], two[1]
		defer here.stop()
		defer there.stop()
		here.set(90)
		there.set(90)
		here.requireActive(true, "both see it")
		here.store.refuse.Store(true)
		here.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonRemoved)
		pass(3 * time.Second)
		here.requireActive(false, "the other one has not been told that it is to look")
		here.store.refuse.Store(false)
		pass(4 * time.Second)
		here.requireActive(true, "the other one judges it")
		pass(time.Hour)
		there.set(70)
		here.requireActive(false, "normal by the one that has the tag")
		pass(time.Minute)
		require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised, alarms.Cleared}, here.kinds())

		there.set(90)
		here.requireActive(true, "above it again")
		there.sample("t", tags.FloatValue(90), tags.Bad, tags.ReasonRemoved)
		pass(time.Minute)
		here.requireActive(false, "nobody has the tag any more")
	})
}
