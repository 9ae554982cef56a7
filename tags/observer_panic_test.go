package tags_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

// A panic in an observer is logged, and neither the driver nor the other observers suffer.
func TestAPanicInAnObserverIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		e, err := tags.New(tags.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		require.NoError(t, err)
		e.Observe(func([]tags.Change) { panic("broken observer") })
		seen := 0
		e.Observe(func(changes []tags.Change) { seen += len(changes) })
		d, err := simdriver.New(simdriver.Options{})
		require.NoError(t, err)
		require.NoError(t, e.AddDriver("sim", d, tags.DriverOptions{PollInterval: time.Second,
			Tags: []tags.Tag{{Name: "t", Address: "device1.tag1", DataType: tags.Float}}}))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.NoError(t, e.Close(t.Context()))
		require.Greater(t, seen, 1)
		require.Contains(t, out.String(), "broken observer")
		require.Contains(t, out.String(), "observer_panic_test.go", "the stack")
	})
}
