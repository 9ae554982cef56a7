package history_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// scriptedStore is a history store that can fail and be slow.
type scriptedStore struct {
	*history.Memory
	mu       sync.Mutex
	err      error
	hold     chan struct{}
	holdTrim chan struct{}
	batches  [][]string // values of what was stored
	trims    []string
}

func (s *scriptedStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *scriptedStore) Append(ctx context.Context, samples []history.Sample) error {
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

func (s *scriptedStore) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	s.mu.Lock()
	hold := s.holdTrim
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

func newRecorder(t *testing.T, s history.Store, o history.RecorderOptions) *history.Recorder {
	t.Helper()
	r, err := history.NewRecorder(s, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

// after lets time pass and everything that is due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// observe reports changes with the values from..to.
func observe(r *history.Recorder, from, to int) (texts []string) {
	tag := tags.Tag{Name: "plc.a", Driver: "plc", Address: "a", DataType: tags.Int}
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
		r := newRecorder(t, s, history.RecorderOptions{FlushInterval: time.Second, FlushSize: 10})
		observe(r, 1, 2)
		observe(r, 3, 4)
		after(500 * time.Millisecond)
		require.Empty(t, s.stored())
		after(500 * time.Millisecond)
		s.set(func() { require.Equal(t, [][]string{{"1", "2", "3", "4"}}, s.batches) })
		want := observe(r, 5, 14)
		synctest.Wait()
		s.set(func() { require.Equal(t, want, s.batches[1], "as many as FlushSize do not wait") })
		after(time.Minute)
		s.set(func() { require.Len(t, s.batches, 2, "nothing is stored when there is nothing") })
		require.Equal(t, history.RecorderStats{Stored: 14}, r.Stats())
	})
}

func TestRecorderWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{err: errStore}
		r := newRecorder(t, s, history.RecorderOptions{FlushSize: 10, MaxPending: 100})
		observe(r, 1, 60)
		after(time.Second)
		require.Equal(t, history.RecorderStats{Pending: 60, Err: errStore}, r.Stats())
		require.ErrorIs(t, r.Flush(t.Context()), errStore)
		observe(r, 61, 120)
		after(10 * time.Second)
		require.Equal(t, history.RecorderStats{Pending: 100, Dropped: 20, DroppedBy: map[history.DropReason]uint64{history.DropStoreFailed: 20},
			LastDrop: r.Stats().LastDrop, Err: errStore}, r.Stats())
		for i := range 1000 {
			observe(r, 121+i, 121+i)
		}
		require.EqualValues(t, 1020, r.Stats().Dropped)
		s.set(func() { s.err = nil })
		after(time.Second)
		require.EqualValues(t, 100, r.Stats().Stored)
		require.EqualValues(t, 1020, r.Stats().Dropped)
		stored := s.stored()
		require.Equal(t, "1021", stored[0], "the oldest were dropped")
		require.Equal(t, "1120", stored[99])
		require.Len(t, stored, 100)
	})
}

func TestRecorderWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{hold: make(chan struct{})}
		r := newRecorder(t, s, history.RecorderOptions{MaxPending: 100})
		observe(r, 1, 90)
		after(2 * time.Second)
		observe(r, 91, 180) // does not block
		s.set(func() { s.err = errStore })
		close(s.hold)
		synctest.Wait()
		require.Equal(t, 100, r.Stats().Pending, "what comes back from the store counts too")
		s.set(func() { s.err = nil })
		after(2 * time.Second)
		require.Equal(t, "81", s.stored()[0])
	})
}

func TestRecorderClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{}
		r := newRecorder(t, s, history.RecorderOptions{})
		want := observe(r, 1, 5)
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, want, s.stored())
		require.NoError(t, r.Close(t.Context()))

		s.set(func() { s.hold = make(chan struct{}) })
		r = newRecorder(t, s, history.RecorderOptions{})
		observe(r, 6, 6)
		after(time.Second) // the store hangs
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 1, r.Stats().Pending)
		close(s.hold)
	})
}

// Closing in the middle of a flush is no failure of the store.
func TestRecorderCloseWhileItStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &scriptedStore{hold: make(chan struct{})}
		r := newRecorder(t, s, history.RecorderOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		want := observe(r, 1, 5)
		after(time.Second)
		want = append(want, observe(r, 6, 6)...)
		s.set(func() { s.hold = nil })
		require.NoError(t, r.Close(t.Context()))
		require.Equal(t, want, s.stored())
		require.EqualValues(t, 6, r.Stats().Stored)
		require.Empty(t, log.String())
	})
}

func TestRecorderTrims(t *testing.T) {
	for want, o := range map[string]history.RecorderOptions{
		"744h0m0s 1073741824": {},
		"24h0m0s 5000":        {MaxAge: 24 * time.Hour, MaxBytes: 5000, TrimInterval: time.Minute},
		"never 0":             {MaxAge: -1, MaxBytes: -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scriptedStore{}
			newRecorder(t, s, o)
			pace := o.TrimInterval
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

// A trim that waits or takes long keeps no sample from being stored.
func TestRecorderStoresWhileTrimmingTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedStore{holdTrim: make(chan struct{})}
		r := newRecorder(t, s, history.RecorderOptions{TrimInterval: time.Minute, MaxPending: 10})
		after(time.Minute)
		for i := range 100 {
			observe(r, 5*i, 5*i+4)
			after(time.Second)
		}
		require.Equal(t, history.RecorderStats{Stored: 500}, r.Stats())
		close(s.holdTrim)
	})
}

// What is lost is logged at once, then now and then, with why.
func TestRecorderLogsWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := &scriptedStore{hold: make(chan struct{})}
		r := newRecorder(t, s, history.RecorderOptions{MaxPending: 10, Logger: slog.New(slog.NewTextHandler(&out, nil))})
		observe(r, 1, 5)
		after(time.Second) // the store hangs
		observe(r, 6, 30)
		require.Contains(t, out.String(), "samples of tag history dropped")
		require.Contains(t, out.String(), "samples=15")
		require.Contains(t, out.String(), "store-slow=15")
		for i := range 100 {
			observe(r, 31+i, 31+i)
		}
		require.Equal(t, 1, strings.Count(out.String(), "dropped\""), "not a line for each")
		after(dropPause)
		observe(r, 131, 131)
		require.Contains(t, out.String(), "samples=101")
		require.Equal(t, map[history.DropReason]uint64{history.DropStoreSlow: 116}, r.Stats().DroppedBy)
		require.WithinDuration(t, time.Now(), r.Stats().LastDrop, time.Second)
		close(s.hold)
	})
}

const dropPause = 11 * time.Second

func TestRecorderOptions(t *testing.T) {
	_, err := history.NewRecorder(nil, history.RecorderOptions{})
	require.Error(t, err)
	for _, o := range []history.RecorderOptions{{FlushInterval: -1}, {FlushSize: -1}, {MaxPending: -1}} {
		_, err := history.NewRecorder(&scriptedStore{}, o)
		require.ErrorContains(t, err, "negative")
	}
}

func TestRecorderSkipsWhatIsRecorded(t *testing.T) {
	store := history.NewMemory()
	r, err := history.NewRecorder(store, history.RecorderOptions{})
	require.NoError(t, err)
	tag := &tags.Tag{Name: "plc.a"}
	now := time.Unix(1_700_000_000, 0)
	var changes []tags.Change
	for i := range 4 {
		changes = append(changes, tags.Change{Tag: tag, Sample: tags.Sample{Value: tags.IntValue(int64(i)), Quality: tags.Good,
			SourceTime: now.Add(time.Duration(i))}, Recorded: i%2 == 0})
	}
	r.Observe(changes)
	require.NoError(t, r.Close(t.Context()))
	require.EqualValues(t, 2, r.Stats().Stored)
}
