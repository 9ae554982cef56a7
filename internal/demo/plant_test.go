package demo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

func Example() {
	driver, list, err := demo.NewDriver(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	v, err := driver.ValueAt("counter", at)
	fmt.Println(len(list), v, err)
	// Output: 9 13975200 <nil>
}

func TestEveryPromisedTagIsThere(t *testing.T) {
	_, list, err := demo.NewDriver(nil)
	require.NoError(t, err)
	type kind struct {
		t tags.DataType
		a tags.AccessMode
	}
	found := make(map[string]kind)
	for _, tag := range list {
		require.NoError(t, tag.Validate())
		found[tag.Name] = kind{tag.DataType, tag.Access}
	}
	for name, want := range map[string]kind{
		"sim.temperature": {tags.Float, tags.ReadOnly}, "sim.pressure": {tags.Float, tags.ReadOnly},
		"sim.counter": {tags.Int, tags.ReadOnly}, "sim.setpoint": {tags.Float, tags.ReadWrite},
		"sim.speed": {tags.Int, tags.ReadWrite}, "sim.running": {tags.Bool, tags.ReadWrite},
		"sim.recipe": {tags.String, tags.ReadWrite}, "sim.snapshot": {tags.Bytes, tags.ReadOnly},
	} {
		require.Equal(t, want, found[name], name)
	}
}

func TestThePastIsTheSameForEverybodyAndMadeOnce(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	fill := func() ([]history.Sample, func() (int, error)) {
		d, list, err := demo.NewDriver(func() time.Time { return now })
		require.NoError(t, err)
		store := history.NewMemory()
		again := func() (int, error) { return demo.FillHistory(t.Context(), d, list, store, now) }
		n, err := again()
		require.NoError(t, err)
		require.Greater(t, n, 20_000)
		var all []history.Sample
		for s, err := range store.Range(context.Background(), "sim.vibration", now.Add(-demo.HistoryAge), now) {
			require.NoError(t, err)
			all = append(all, s)
		}
		return all, again
	}
	first, again := fill()
	second, _ := fill()
	require.Equal(t, first, second)
	n, err := again()
	require.NoError(t, err)
	require.Zero(t, n)
}
