package tags_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// scriptedStore is a history store that can fail and be slow.
type scriptedStore struct {
	*tags.MemoryHistory
	mu      sync.Mutex
	err     error
	hold    chan struct{}
	batches [][]string // values of what was stored
	trims   []string
}

func (s *scriptedStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *scriptedStore) Append(ctx context.Context, samples []tags.HistorySample) error {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	var batch []string
	for _, one := range samples {
		batch = append(batch, one.Value.String())
	}
	s.batches = append(s.batches, batch)
	return nil
}

func (s *scriptedStore) Trim(_ context.Context, before time.Time, maxBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := "never"
	if !before.IsZero() {
		age = time.Since(before).String()
	}
	s.trims = append(s.trims, fmt.Sprint(age, " ", maxBytes))
	return nil
}

func (s *scriptedStore) stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.batches...)
}

func newRecorder(t *testing.T, s tags.HistoryStore, o tags.RecorderOptions) *tags.Recorder {
	t.Helper()
	r, err := tags.NewRecorder(s, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

// tell observes changes with the values from..to.
func tell(r *tags.Recorder, from, to int) (texts []string) {
	tag := intTag("plc.a")
	var changes []tags.Change
	for i := from; i <= to; i++ {
		changes = append(changes, tags.Change{Tag: &tag, Sample: tags.Sample{Value: tags.IntValue(int64(i)), Quality: tags.Good, SourceTime: time.Now()}})
		texts = append(texts, fmt.Sprint(i))
	}
	r.Observe(changes)
	return texts
}

func TestRecorderStoresInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{}
		r := newRecorder(t, s, tags.RecorderOptions{FlushEvery: time.Second, FlushAt: 10})
		tell(r, 1, 2)
		tell(r, 3, 4)
		after(500 * time.Millisecond)
		require.Empty(t, s.stored())
		after(500 * time.Millisecond)
		s.set(func() { require.Equal(t, [][]string{{"1", "2", "3", "4"}}, s.batches) })
		want := tell(r, 5, 14)
		synctest.Wait()
		s.set(func() { require.Equal(t, want, s.batches[1], "as many as FlushAt do not wait") })
		after(time.Minute)
		s.set(func() { require.Len(t, s.batches, 2, "nothing is stored when there is nothing") })
		require.Equal(t, tags.RecorderStats{Stored: 14}, r.Stats())
	})
}

func TestRecorderWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{err: errDevice}
		r := newRecorder(t, s, tags.RecorderOptions{FlushAt: 10, MaxWaiting: 100})
		tell(r, 1, 60)
		after(time.Second)
		require.Equal(t, tags.RecorderStats{Waiting: 60, Err: errDevice}, r.Stats())
		require.ErrorIs(t, r.Flush(t.Context()), errDevice)
		tell(r, 61, 120)
		after(10 * time.Second)
		require.Equal(t, tags.RecorderStats{Waiting: 100, Dropped: 20, Err: errDevice}, r.Stats())
		for i := range 1000 {
			tell(r, 121+i, 121+i)
		}
		require.EqualValues(t, 1020, r.Stats().Dropped)
		s.set(func() { s.err = nil })
		after(time.Second)
		require.Equal(t, tags.RecorderStats{Stored: 100, Dropped: 1020}, r.Stats())
		stored := s.stored()
		require.Equal(t, "1021", stored[0], "the oldest were dropped")
		require.Equal(t, "1120", stored[99])
		require.Len(t, stored, 100)
	})
}

func TestRecorderWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{hold: make(chan struct{})}
		r := newRecorder(t, s, tags.RecorderOptions{MaxWaiting: 100})
		tell(r, 1, 90)
		after(2 * time.Second)
		tell(r, 91, 180) // does not block
		s.set(func() { s.err = errDevice })
		close(s.hold)
		synctest.Wait()
		require.Equal(t, 100, r.Stats().Waiting, "what comes back from the store counts too")
		s.set(func() { s.err = nil })
		after(2 * time.Second)
		require.Equal(t, "81", s.stored()[0])
	})
}

func TestRecorderClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{}
		r := newRecorder(t, s, tags.RecorderOptions{})
		want := tell(r, 1, 5)
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, want, s.stored())
		require.NoError(t, r.Close(t.Context()))

		s.set(func() { s.hold = make(chan struct{}) })
		r = newRecorder(t, s, tags.RecorderOptions{})
		tell(r, 6, 6)
		after(time.Second) // the store hangs
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 1, r.Stats().Waiting)
		close(s.hold)
	})
}

func TestRecorderTrims(t *testing.T) {
	for want, o := range map[string]tags.RecorderOptions{
		"744h0m0s 1073741824": {},
		"24h0m0s 5000":        {MaxAge: 24 * time.Hour, MaxBytes: 5000, TrimEvery: time.Minute},
		"never 0":             {MaxAge: -1, MaxBytes: -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scriptedStore{}
			newRecorder(t, s, o)
			pace := o.TrimEvery
			if pace == 0 {
				pace = 10 * time.Minute
			}
			after(pace)
			s.set(func() { require.Equal(t, []string{want}, s.trims) })
			after(pace)
			s.set(func() { require.Len(t, s.trims, 2) })
		})
	}
}

func TestRecorderOptions(t *testing.T) {
	_, err := tags.NewRecorder(nil, tags.RecorderOptions{})
	require.Error(t, err)
	for _, o := range []tags.RecorderOptions{{FlushEvery: -1}, {FlushAt: -1}, {MaxWaiting: -1}, {TrimEvery: -1}} {
		_, err := tags.NewRecorder(&scriptedStore{}, o)
		require.ErrorContains(t, err, "negative")
	}
}

func TestHistoryOfAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := tags.NewMemoryHistory()
		r := newRecorder(t, store, tags.RecorderOptions{})
		d := newDevice()
		e := newEngine(t, tags.Options{})
		defer e.Observe(r.Observe)()
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
		start := time.Now()
		for i := range 5 {
			d.has("a", tags.IntValue(int64(i)))
			after(time.Second)
		}
		d.set(func(d *device) { d.readErr = tags.ErrNotConnected })
		after(2 * time.Second)
		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		require.NoError(t, r.Flush(t.Context()))
		var got []string
		for s, err := range store.Range(t.Context(), "plc.a", start, time.Now().Add(time.Second)) {
			require.NoError(t, err)
			got = append(got, fmt.Sprint(s.Value, " ", s.Quality, " ", s.Reason))
		}
		require.Equal(t, []string{"0 Good ", "1 Good ", "2 Good ", "3 Good ", "4 Good ", "4 Bad NotConnected", "4 Bad NoDriver"}, got)
	})
}
