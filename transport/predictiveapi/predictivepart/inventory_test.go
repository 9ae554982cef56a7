package predictivepart_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

func newEngine(t testing.TB) *tags.Engine {
	t.Helper()
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	return e
}

func tag(driver, name string) tags.Tag {
	return tags.Tag{Name: name, Driver: driver, DataType: tags.Float, Unit: "bar"}
}

func TestEquipmentsAreDrivers(t *testing.T) {
	engine := newEngine(t)
	require.NoError(t, engine.DefineTags(tag("pump2", "line1.pump2.pressure"), tag("pump1", "line1.pump1.pressure"), tag("pump1", "line1.pump1.load"),
		tag("devices", "devices.agv.battery"), tag("predictive", "predictive.pump1.rulDays"), tag("weather", "weather.rain")))
	v, err := predictivepart.NewInventory(engine, predictivepart.InventoryOptions{Settings: []string{"*.load"}, Exclude: []string{"weather"}})
	require.NoError(t, err)
	equipments := func() []string {
		list, err := v.Equipments(t.Context())
		require.NoError(t, err)
		return list
	}
	tagsOf := func(equipment string) []predictive.Tag {
		list, err := v.Tags(t.Context(), equipment)
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []string{"pump1", "pump2"}, equipments())
	require.Equal(t, []predictive.Tag{{ID: "line1.pump1.load", Role: "line1.load", Unit: "bar", Setting: true},
		{ID: "line1.pump1.pressure", Role: "line1.pressure", Unit: "bar"}}, tagsOf("pump1"))
	require.Empty(t, tagsOf("pump9"))
	require.Empty(t, tagsOf("devices"))
	finder, ok := v.(predictive.TagFinder)
	require.True(t, ok)
	for id, want := range map[string]bool{"line1.pump2.pressure": true, "nothing": false, "weather.rain": true, "predictive.pump1.rulDays": true} {
		found, err := finder.HasTag(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, found, id)
	}

	require.NoError(t, engine.DefineTags(tag("pump3", "line1.pump3.pressure")))
	engine.RemoveTags("line1.pump2.pressure")
	require.Equal(t, []string{"pump1", "pump3"}, equipments(), "what is configured meanwhile is seen at once")
}

func TestInventoryRefusesWhatIsNoPattern(t *testing.T) {
	_, err := predictivepart.NewInventory(newEngine(t), predictivepart.InventoryOptions{Settings: []string{"[a"}})
	require.ErrorContains(t, err, "Settings")
}

// 100,000 tags cost nothing while they are the same.
func TestInventoryReadsTagsOnceUntilTheyChange(t *testing.T) {
	engine := newEngine(t)
	var list []tags.Tag
	for i := range 20_000 {
		driver := fmt.Sprintf("pump%d", i%100)
		list = append(list, tag(driver, fmt.Sprintf("%s.t%d", driver, i)))
	}
	require.NoError(t, engine.DefineTags(list...))
	v, err := predictivepart.NewInventory(engine, predictivepart.InventoryOptions{})
	require.NoError(t, err)
	of, err := v.Tags(t.Context(), "pump7")
	require.NoError(t, err)
	require.Len(t, of, 200)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		_, _ = v.Equipments(context.Background())
		_, _ = v.Tags(context.Background(), "pump7")
	}))
}

func BenchmarkInventory(b *testing.B) {
	engine := newEngine(b)
	var list []tags.Tag
	for i := range 100_000 {
		driver := fmt.Sprintf("pump%d", i%1000)
		list = append(list, tag(driver, fmt.Sprintf("%s.t%d", driver, i)))
	}
	require.NoError(b, engine.DefineTags(list...))
	v, err := predictivepart.NewInventory(engine, predictivepart.InventoryOptions{Settings: []string{"*.load"}})
	require.NoError(b, err)
	b.Run("Same", func(b *testing.B) {
		for b.Loop() {
			_, _ = v.Equipments(b.Context())
			_, _ = v.Tags(b.Context(), "pump7")
		}
	})
	b.Run("Changed", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			require.NoError(b, engine.DefineTags(tag("pump0", fmt.Sprintf("pump0.x%d", n%10))))
			_, _ = v.Equipments(b.Context())
		}
	})
}
