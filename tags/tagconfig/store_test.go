package tagconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killEnv); path != "" {
		writeUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func modelPath(t testing.TB) string {
	return filepath.Join(t.TempDir(), "config", "equipment_model.json")
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Logger: quiet()})
	require.NoError(t, err)
	return s
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func item(id string) Config { return Config{TagID: id, DriverID: "plc", DataType: tags.Float} }

func described(id, text string) Config {
	c := item(id)
	c.Description = text
	return c
}

func full() Config {
	yes := true
	return Config{
		TagID: "plc.speed", DriverID: "plc", Address: "40001", DataType: tags.Float, Unit: "°C", Description: "first \"line\"\nsecond, <b>",
		MinValue: tags.Ptr(-1.5), MaxValue: tags.Ptr(1e9), ScalingFactor: tags.Ptr(0.1), Offset: tags.Ptr(-40),
		AccessMode: tags.ReadWrite, NativeType: "UInt16", IntervalMs: 250, Deadband: tags.Ptr(0), DeadbandPercent: tags.Ptr(0.5), ConfirmWrites: &yes,
	}
}

func ids(items []Config) []string {
	var all []string
	for _, c := range items {
		all = append(all, c.TagID)
	}
	return all
}

func fields(t testing.TB, err error) []string {
	t.Helper()
	e, ok := fault.From(err)
	require.True(t, ok, "%v", err)
	var names []string
	for _, f := range e.Fields {
		names = append(names, f.Field)
	}
	return names
}

func TestEffectiveHasTheDefaults(t *testing.T) {
	s := open(t, modelPath(t))
	_, err := s.Bulk(t.Context(), []Config{described("a", "of no driver"), described("b", "seeded"), full()})
	require.NoError(t, err)
	s.Seed("plc", Config{TagID: "b", DriverID: "plc", DataType: tags.Float, ScalingFactor: tags.Ptr(0.5), Offset: tags.Ptr(3)},
		Config{TagID: "c", DriverID: "plc", DataType: tags.Float})
	found := map[string][2]float64{}
	for _, c := range s.Effective() {
		found[c.TagID] = [2]float64{*c.ScalingFactor, *c.Offset}
	}
	require.Equal(t, map[string][2]float64{"a": {1, 0}, "b": {0.5, 3}, "c": {1, 0}, "plc.speed": {0.1, -40}}, found)
	require.Nil(t, s.Configured()[0].ScalingFactor, "the file keeps what is absent")
}

func TestMissingFileIsEmptyAndBulkMakesIt(t *testing.T) {
	path := modelPath(t)
	s := open(t, path)
	require.Empty(t, s.List())
	require.NoError(t, s.Err())

	count, err := s.Bulk(t.Context(), []Config{described("b", "old"), full(), described("b", "new")})
	require.NoError(t, err)
	require.Equal(t, 2, count, "distinct tags")
	require.Equal(t, []string{"b", "plc.speed"}, ids(s.List()))

	var file struct {
		ModelName, Version string
		Variables          []map[string]any
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &file))
	require.Equal(t, "equipment_model", file.ModelName)
	require.Equal(t, "1.0", file.Version)
	require.Equal(t, map[string]any{
		"tagId": "b", "driverId": "plc", "address": "", "dataType": "Float", "unit": "", "description": "new",
	}, file.Variables[0], "extras and limits are left out when absent, the last of two wins")

	again := open(t, path)
	require.Equal(t, s.List(), again.List(), "a restart finds the same")
	got, err := again.Get("plc.speed")
	require.NoError(t, err)
	require.Equal(t, full(), got)
	_, err = again.Get("plc.none")
	require.ErrorIs(t, err, ErrNotFound)

	names, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, names, 1, "no temporary file stays")
}

func TestBulkUpsertsAndKeepsTheOrderOfTheFile(t *testing.T) {
	path := modelPath(t)
	write(t, path, `{"variables":[{"tagId":"z","driverId":"d","dataType":"Int"},{"tagId":"a","driverId":"d","dataType":"Int"}]}`)
	s := open(t, path)
	count, err := s.Bulk(t.Context(), []Config{item("m"), item("z")})
	require.NoError(t, err)
	require.Equal(t, 2, count)
	require.Equal(t, []string{"a", "m", "z"}, ids(s.List()))
	z, err := s.Get("z")
	require.NoError(t, err)
	require.Equal(t, tags.Float, z.DataType)

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(data)
	require.Less(t, strings.Index(text, `"z"`), strings.Index(text, `"a"`))
	require.Less(t, strings.Index(text, `"a"`), strings.Index(text, `"m"`))
}

func TestBulkRefusesAllForOneBadItem(t *testing.T) {
	path := modelPath(t)
	s := open(t, path)
	_, err := s.Bulk(t.Context(), []Config{item("keep")})
	require.NoError(t, err)
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	limits := item("x")
	limits.MinValue, limits.MaxValue = tags.Ptr(2), tags.Ptr(1)
	zero := item("x")
	zero.ScalingFactor = tags.Ptr(0)
	odd := item("x")
	odd.DataType, odd.AccessMode, odd.IntervalMs = "float", "Write", 5
	long := item("x")
	long.IntervalMs = MaxIntervalMs + 1
	control := item(" x")
	control.Address, control.Unit = "a\x00", strings.Repeat("x", MaxTextBytes+1)
	_, err = s.Bulk(t.Context(), []Config{item("good"), {}, limits, zero, odd, long, control})
	require.ErrorIs(t, err, ErrInvalid)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.ElementsMatch(t, []string{
		"[1].tagId", "[1].driverId", "[1].dataType", "[2].minValue", "[3].scalingFactor",
		"[4].dataType", "[4].accessMode", "[5].intervalMs", "[6].tagId", "[6].address", "[6].unit",
	}, fields(t, err))

	_, err = s.Bulk(t.Context(), nil)
	require.ErrorIs(t, err, ErrEmpty)
	_, err = s.Bulk(t.Context(), make([]Config, 1000))
	require.Len(t, fields(t, err), maxFaults)

	require.Equal(t, []string{"keep"}, ids(s.List()))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestBulkKeepsToItsBoundsAndItsContext(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: modelPath(t), MaxItems: 2, Logger: quiet()})
	require.NoError(t, err)
	_, err = s.Bulk(t.Context(), []Config{item("a"), item("b"), item("c")})
	require.ErrorIs(t, err, ErrTooMany)
	require.Empty(t, s.List())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Bulk(ctx, []Config{item("a")})
	require.Equal(t, fault.Canceled, fault.KindOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

func TestStoreSharesNoMemoryWithTheCaller(t *testing.T) {
	s := open(t, modelPath(t))
	limit := 1.0
	c := item("a")
	c.MinValue = &limit
	_, err := s.Bulk(t.Context(), []Config{c})
	require.NoError(t, err)
	limit = 99
	got, err := s.Get("a")
	require.NoError(t, err)
	require.InDelta(t, 1.0, *got.MinValue, 0)
}

func TestBrokenFileStopsTheStartAndNamesThePlace(t *testing.T) {
	good := `{"tagId":"a","driverId":"d","dataType":"Int"}`
	for name, c := range map[string]struct{ text, place string }{
		"empty":         {"", "the file is empty"},
		"cut off":       {"{\n \"variables\": [\n  {\"tagId\"", "line 3, character"},
		"bad character": {"{\n \"variables\": [\n  oops]}", "line 3, character 3"},
		"an array":      {"[]", "line 1: must be an object"},
		"no list":       {"{\n\n\"variables\": {}}", "line 3: variables must be an array"},
		"name":          {"{\"modelName\": 7}", "line 1: modelName must be a string"},
		"not an item":   {"{\"variables\": [\n7]}", "line 2: variables[0].tagId the item must be an object"},
		"wrong type":    {"{\"variables\": [" + good + ",\n\n{\"tagId\":\"b\",\"minValue\":\"low\"}]}", "line 3: variables[1].minValue must be a finite number"},
		"huge number":   {"{\"variables\": [{\"offset\":1e999}]}", "variables[0].offset must be a finite number"},
		"rule":          {"{\"variables\": [\n" + good + ",\n{\"tagId\":\"b\",\"driverId\":\"d\",\"dataType\":\"Real\"}]}", "line 3: variables[1].dataType must be one of"},
		"zero scale":    {"{\"variables\": [{\"tagId\":\"b\",\"driverId\":\"d\",\"dataType\":\"Int\",\"scalingFactor\":0}]}", "variables[0].scalingFactor must not be 0"},
		"trailing":      {"{} {}", "line 1, character 4"},
	} {
		t.Run(name, func(t *testing.T) {
			path := modelPath(t)
			write(t, path, c.text)
			_, err := Open(t.Context(), Options{Path: path, Logger: quiet()})
			require.ErrorIs(t, err, ErrModelFile)
			require.ErrorContains(t, err, c.place)
		})
	}
}

func TestUnknownMembersSurviveARewrite(t *testing.T) {
	path := modelPath(t)
	write(t, path, "\xef\xbb\xbf"+`{"$schema":"x","version":"7","modelName":"line <4>","plant":{"id": 1},
		"variables":[{"tagId":"a","driverId":"d","dataType":"Int","comment":"mine","area":[1, 2]}],"owner":"ops"}`)
	s := open(t, path)
	changed := item("a")
	changed.Unit = "bar"
	_, err := s.Bulk(t.Context(), []Config{changed})
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	want := `{
  "modelName": "line <4>",
  "version": "7",
  "$schema": "x",
  "plant": {"id": 1},
  "owner": "ops",
  "variables": [
    {"tagId":"a","driverId":"plc","address":"","dataType":"Float","unit":"bar","description":"","area":[1,2],"comment":"mine"}
  ]
}
`
	require.Equal(t, strings.Split(want, "\n"), strings.Split(string(data), "\n"), "laid out for people")
	name, version := open(t, path).Model()
	require.Equal(t, "line <4>", name)
	require.Equal(t, "7", version)
}

func TestSeedsAreListedButNotWritten(t *testing.T) {
	path := modelPath(t)
	s := open(t, path)
	s.Seed("plc", described("a", "driver"), described("b", "driver"))
	s.Seed("other", described("c", "driver"))
	_, err := s.Bulk(t.Context(), []Config{described("b", "file")})
	require.NoError(t, err)

	require.Equal(t, []string{"a", "b", "c"}, ids(s.List()))
	require.Equal(t, []string{"b"}, ids(s.Configured()))
	b, err := s.Get("b")
	require.NoError(t, err)
	require.Equal(t, "file", b.Description)
	a, err := s.Get("a")
	require.NoError(t, err)
	require.Nil(t, a.ScalingFactor, "what is absent stays absent")
	require.Equal(t, []string{"b"}, ids(open(t, path).List()))

	s.Seed("plc")
	require.Equal(t, []string{"b", "c"}, ids(s.List()))
}

func TestOptionsNameTheirBadMember(t *testing.T) {
	for field, opts := range map[string]Options{
		"Path": {}, "MaxItems": {Path: "x", MaxItems: -1}, "PollInterval": {Path: "x", PollInterval: -1}, "Debounce": {Path: "x", Debounce: -1},
	} {
		_, err := Open(t.Context(), opts)
		require.ErrorContains(t, err, "Options."+field)
	}
}

func TestConcurrentBulksLoseNothing(t *testing.T) {
	path := modelPath(t)
	changes := 0
	s, err := Open(t.Context(), Options{Path: path, Logger: quiet(), OnChange: func(Edit) { changes++ }})
	require.NoError(t, err)
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := s.Bulk(t.Context(), []Config{item(fmt.Sprintf("w%d.%d", w, i)), described("shared", strconv.Itoa(w))})
				if err != nil {
					t.Error(err)
				}
				s.List()
			}
		})
	}
	wg.Wait()
	require.Len(t, s.List(), writers*each+1)
	require.Equal(t, writers*each, changes, "one call for each, one after the other")
	require.Equal(t, s.List(), open(t, path).List())
}

func TestItemsNameWhatCannotBeRead(t *testing.T) {
	var items Items
	err := json.Unmarshal([]byte(`[{"tagId":"a","minValue":"abc","maxValue":1},{"tagId":"b"},{"tagId":7},null,3,{"confirmWrites":"yes"}]`), &items)
	require.ErrorIs(t, err, ErrInvalid)
	f, ok := fault.From(err)
	require.True(t, ok)
	require.Equal(t, []fault.Field{
		{Field: "[0].minValue", Message: "must be a finite number"}, {Field: "[2].tagId", Message: "must be a string"},
		{Field: "[4].tagId", Message: "the item must be an object"}, {Field: "[5].confirmWrites", Message: "must be true or false"},
	}, f.Fields)
	require.Error(t, json.Unmarshal([]byte(`{}`), &items))
	require.NoError(t, json.Unmarshal([]byte(`[{"tagId":"a","minValue":null}]`), &items))
	require.Equal(t, Items{{TagID: "a", NoMin: true}}, items)
}
