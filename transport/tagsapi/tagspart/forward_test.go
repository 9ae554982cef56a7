package tagspart

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/health"
)

// host is a driver that stores and forwards.
type host struct {
	mu  sync.Mutex
	put func(context.Context, []tags.Forwarded) error
}

func (h *host) store(ctx context.Context, readings []tags.Forwarded) error {
	h.mu.Lock()
	put := h.put
	h.mu.Unlock()
	return put(ctx, readings)
}

func (h *host) Connect(context.Context) error                            { return nil }
func (h *host) Read(context.Context, []tags.Point, []tags.Reading) error { return tags.ErrNotConnected }
func (h *host) Write(context.Context, []tags.WriteItem, []error) error   { return tags.ErrNotConnected }
func (h *host) Close() error                                             { return nil }
func (h *host) Subscribe(ctx context.Context, _ []tags.Point, _ func(int, tags.Reading)) error {
	<-ctx.Done()
	return nil
}

func (h *host) Forward(ctx context.Context, _ []tags.Point, store func(context.Context, []tags.Forwarded) error) error {
	h.mu.Lock()
	h.put = store
	h.mu.Unlock()
	<-ctx.Done()
	return nil
}

// failing is a history store that can fail.
type failing struct {
	*history.Memory
	broken atomic.Bool
}

func (f *failing) Append(ctx context.Context, samples []history.Sample) error {
	if f.broken.Load() {
		return errors.New("disk is full")
	}
	return f.Memory.Append(ctx, samples)
}

func newTags(t *testing.T, o Options) *Tags {
	t.Helper()
	o.ModelPath = filepath.Join(t.TempDir(), "model.json")
	part, err := New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, part.drain(context.Background())) })
	return part
}

func level(driver string) tags.Tag {
	return tags.Tag{Name: driver + ".level", Driver: driver, Address: "level", DataType: tags.Float, Scale: 2}
}

func stored(t *testing.T, s history.Store, tag string) (texts []string) {
	t.Helper()
	for sample, err := range s.Range(t.Context(), tag, time.Time{}, time.Now().Add(time.Hour)) {
		require.NoError(t, err)
		texts = append(texts, sample.Value.String()+" "+sample.Quality.String())
	}
	return texts
}

func TestWhatIsForwardedIsInHistoryOnceAndBeforeItIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Memory: history.NewMemory()}
		part := newTags(t, Options{HistoryStore: store})
		h := &host{}
		require.NoError(t, part.AddDriver(Driver{ID: "b1", Driver: h, Options: tags.DriverOptions{Tags: []tags.Tag{level("b1")}}}))
		time.Sleep(time.Second)
		batch := []tags.Forwarded{
			{Reading: tags.Reading{Value: tags.FloatValue(1), Quality: tags.Good, Time: time.Now().Add(-time.Second)}},
			{Reading: tags.Reading{Value: tags.FloatValue(2), Quality: tags.Good, Time: time.Now()}}}
		store.broken.Store(true)
		require.ErrorContains(t, h.store(t.Context(), batch), "disk is full")
		require.Equal(t, health.Degraded, part.checkHistory(t.Context()).Status)
		store.broken.Store(false)
		require.NoError(t, h.store(t.Context(), batch))
		require.Equal(t, []string{"2 Good", "4 Good"}, stored(t, store, "b1.level"), "it has not waited for the recorder")
		require.Equal(t, health.Healthy, part.checkHistory(t.Context()).Status)
		require.NoError(t, part.RemoveDriver(t.Context(), "b1"))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"2 Good", "4 Good"}, stored(t, store, "b1.level"), "the link is no matter of history")
		require.EqualValues(t, 2, part.historyStats().Stored)
	})
}

func TestWithoutHistoryForwardedReadingsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		part := newTags(t, Options{History: HistoryOptions{Disabled: true}})
		h := &host{}
		require.NoError(t, part.AddDriver(Driver{ID: "b1", Driver: h, Options: tags.DriverOptions{Tags: []tags.Tag{level("b1")}}}))
		time.Sleep(time.Second)
		require.NoError(t, h.store(t.Context(), []tags.Forwarded{{Reading: tags.Reading{Value: tags.FloatValue(1), Quality: tags.Good}}}))
		s, ok := part.Current("b1.level")
		require.True(t, ok)
		require.Equal(t, tags.FloatValue(2), s.Sample.Value)
	})
}

func TestRemoveDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		part := newTags(t, Options{})
		other := level("b1")
		other.Name = "b1.other"
		add := func() {
			require.NoError(t, part.AddDriver(Driver{ID: "b1", Driver: &host{}, Options: tags.DriverOptions{Tags: []tags.Tag{level("b1"), other}}}))
		}
		add()
		require.NoError(t, part.AddDriver(Driver{ID: "b2", Driver: &host{}, Options: tags.DriverOptions{Tags: []tags.Tag{level("b2")}}}))
		_, err := part.config.Bulk(t.Context(), []tagconfig.Config{{TagID: "b1.other", DriverID: "b1", Address: "level", DataType: tags.Float, Unit: "mm"}})
		require.NoError(t, err)

		require.NoError(t, part.RemoveDriver(t.Context(), "b1"))
		_, ok := part.Current("b1.level")
		require.False(t, ok)
		_, err = part.config.Get("b1.level")
		require.ErrorIs(t, err, tagconfig.ErrNotFound)
		s, ok := part.Current("b1.other")
		require.True(t, ok, "it was configured by a person")
		require.Equal(t, tags.ReasonNoDriver, s.Sample.Reason)
		_, ok = part.Current("b2.level")
		require.True(t, ok)
		require.ErrorIs(t, part.RemoveDriver(t.Context(), "b1"), tags.ErrInvalidDriver)

		add()
		_, ok = part.Current("b1.level")
		require.True(t, ok)
		s, _ = part.Current("b1.other")
		require.Equal(t, "mm", s.Tag.Unit, "what was configured counts again")
		require.InDelta(t, 2, s.Tag.Scale, 0, "with what the driver knows")
	})
}
