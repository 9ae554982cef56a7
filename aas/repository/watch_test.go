package repository_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func (p *plant) set(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value == "gone" {
		delete(p.values, name)
		return
	}
	p.values[name] = value
}

// notifying is a plant that reports its changes.
type notifying struct {
	plant
	began [][]string // the names of each Notify
	open  sync.WaitGroup
	told  chan []string
}

func (n *notifying) Notify(names []string) (repository.ValueNotices, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.began = append(n.began, names)
	n.open.Add(1)
	return &told{n: n}, nil
}

type told struct {
	n    *notifying
	once sync.Once
}

func (t *told) Next(ctx context.Context) ([]string, error) {
	select {
	case names := <-t.n.told:
		return names, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *told) Close() { t.once.Do(t.n.open.Done) }

// textsOf returns what changed by path.
func textsOf(c repository.ValueChanges) map[string]string {
	texts := make(map[string]string)
	for _, v := range c.Values {
		texts[v.Path] = "none"
		if v.Value != nil {
			texts[v.Path] = *v.Value
		}
	}
	return texts
}

func watch(t *testing.T, s *repository.Service, o repository.WatchOptions) *repository.ValueWatch {
	t.Helper()
	w, err := s.WatchValues(t.Context(), "urn:m", o)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

func awaitValues(t *testing.T, w *repository.ValueWatch) repository.ValueChanges {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := w.Next(ctx)
	require.NoError(t, err)
	return c
}

func TestAWatchReturnsAllLiveValuesAndThenWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &notifying{plant: plant{values: map[string]string{"speed": "12.5", "count": "7"}}, told: make(chan []string, 1)}
		s, _ := livePump(t, source)
		w := watch(t, s, repository.WatchOptions{})
		first := awaitValues(t, w)
		require.True(t, first.Complete)
		require.Equal(t, map[string]string{"Motor.Speed": "12.5", "Count": "7"}, textsOf(first))
		require.Equal(t, "speed", first.Values[0].Tag, "in the order of the submodel")

		before := time.Now()
		source.set("speed", "13")
		source.told <- []string{"speed", "count"}
		changes := awaitValues(t, w)
		require.False(t, changes.Complete)
		require.Equal(t, first.Version, changes.Version)
		require.Equal(t, map[string]string{"Motor.Speed": "13"}, textsOf(changes), "only what changed")
		require.Zero(t, time.Since(before), "a change that is reported is not waited for")

		w.Close()
		w.Close()
		source.open.Wait()
	})
}

func TestAWatchSeesTagsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &notifying{plant: plant{values: map[string]string{"speed": "12.5"}}, told: make(chan []string, 1)}
		s, _ := livePump(t, source)
		w := watch(t, s, repository.WatchOptions{})
		require.Equal(t, map[string]string{"Motor.Speed": "12.5", "Count": "0"}, textsOf(awaitValues(t, w)), "of no tag, the stored value")
		source.set("count", "")
		require.Equal(t, map[string]string{"Count": "none"}, textsOf(awaitValues(t, w)))
		source.set("speed", "gone")
		require.Equal(t, map[string]string{"Motor.Speed": "none"}, textsOf(awaitValues(t, w)))
		source.set("count", "8")
		source.told <- []string{"count"}
		require.Equal(t, map[string]string{"Count": "8"}, textsOf(awaitValues(t, w)))
		require.ElementsMatch(t, []string{"speed", "count"}, source.began[1])
		require.Equal(t, []string{"count"}, source.began[2])
		w.Close()
		source.open.Wait()
	})
}

func TestAWatchReturnsAllAgainWhenItsSubmodelChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &notifying{plant: plant{values: map[string]string{"speed": "12.5", "count": "7"}}, told: make(chan []string, 1)}
		s, _ := livePump(t, source)
		w := watch(t, s, repository.WatchOptions{})
		first := awaitValues(t, w)
		_, err := s.DeleteElement(t.Context(), "urn:m", parsePath(t, "Motor"), repository.Match{})
		require.NoError(t, err)
		again := awaitValues(t, w)
		require.True(t, again.Complete)
		require.Greater(t, again.Version, first.Version)
		require.Equal(t, map[string]string{"Count": "7"}, textsOf(again))

		require.NoError(t, s.Submodels.Delete(t.Context(), "urn:m", repository.Match{}))
		_, err = w.Next(t.Context())
		require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
		_, err = s.WatchValues(t.Context(), "urn:m", repository.WatchOptions{})
		require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
		w.Close()
		source.open.Wait()
	})
}

func TestAWatchIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &notifying{plant: plant{values: map[string]string{"speed": "0", "count": "0"}}, told: make(chan []string, 1)}
		s, _ := livePump(t, source)
		w := watch(t, s, repository.WatchOptions{Throttle: time.Second})
		awaitValues(t, w)
		for _, value := range []string{"1", "2", "3"} {
			source.set("count", value)
			source.told <- []string{"count"}
			before := time.Now()
			require.Equal(t, map[string]string{"Count": value}, textsOf(awaitValues(t, w)))
			if value != "1" {
				require.Equal(t, time.Second, time.Since(before))
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		_, err := w.Next(ended)
		require.ErrorIs(t, err, context.Canceled)
		for _, throttle := range []time.Duration{-1, time.Hour + 1} {
			_, err = s.WatchValues(t.Context(), "urn:m", repository.WatchOptions{Throttle: throttle})
			require.ErrorIs(t, err, aas.ErrInvalidRequest)
		}
		w.Close()
	})
}

// Without a source that notifies, and without one at all, a watch still works.
func TestAWatchOfASourceThatDoesNotNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &plant{values: map[string]string{"speed": "12.5", "count": "7"}}
		s, _ := livePump(t, source)
		w := watch(t, s, repository.WatchOptions{})
		awaitValues(t, w)
		source.set("count", "8")
		before := time.Now()
		require.Equal(t, map[string]string{"Count": "8"}, textsOf(awaitValues(t, w)))
		require.LessOrEqual(t, time.Since(before), time.Second)

		s, _ = livePump(t, nil)
		none, err := s.WatchValues(t.Context(), "urn:m", repository.WatchOptions{})
		require.NoError(t, err)
		defer none.Close()
		require.Equal(t, map[string]string{"Motor.Speed": "0", "Count": "0"}, textsOf(awaitValues(t, none)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = none.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "nothing changes")
	})
}

// Variables of operations have no values of their own.
func TestAWatchOmitsVariablesOfOperations(t *testing.T) {
	s, _ := livePump(t, &plant{values: map[string]string{"speed": "1", "count": "2"}})
	o := &aas.Operation{InputVariables: []aas.Element{live("To", "speed", "xs:double")}}
	o.IDShort = "Run"
	_, err := s.InsertElement(t.Context(), "urn:m", nil, o, repository.Match{})
	require.NoError(t, err)
	w := watch(t, s, repository.WatchOptions{})
	require.Len(t, awaitValues(t, w).Values, 2)
}
