package tagconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// A short item must not take the scaling off a tag whose writes would then be ten times too large.
func TestWhatAnItemLeavesOutIsTheDrivers(t *testing.T) {
	base := tags.Tag{Name: "a", Driver: "plc", DataType: tags.Float, Min: tags.Ptr(1), Max: tags.Ptr(9), Scale: 0.1, Offset: 3}
	for text, want := range map[string]tags.Tag{
		`{}`:                              {Min: tags.Ptr(1), Max: tags.Ptr(9), Scale: 0.1, Offset: 3},
		`{"minValue":null}`:               {Max: tags.Ptr(9), Scale: 0.1, Offset: 3},
		`{"maxValue":null,"minValue":2}`:  {Min: tags.Ptr(2), Scale: 0.1, Offset: 3},
		`{"scalingFactor":1,"offset":0}`:  {Min: tags.Ptr(1), Max: tags.Ptr(9), Scale: 1},
		`{"MinValue":null,"maxValue":10}`: {Max: tags.Ptr(10), Scale: 0.1, Offset: 3},
	} {
		var c Config
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		c.TagID, c.DriverID, c.DataType = "a", "plc", tags.Float
		want.Name, want.Driver, want.DataType = "a", "plc", tags.Float
		require.Equal(t, want, c.Tag(&base), text)

		var again Config
		written, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &again))
		require.Equal(t, c, again, "by JSON: %s", written)
		for _, format := range []Format{CSV, XLSX} {
			var sheet bytes.Buffer
			require.NoError(t, Export(&sheet, format, slices.Values([]Config{c})))
			items, err := Import(&sheet, format)
			require.NoError(t, err)
			require.Equal(t, []Config{c}, items, "by %s: %s", format, text)
		}

		want.Min, want.Max, want.Scale, want.Offset, want.Access = c.MinValue, c.MaxValue, 1, 0, tags.ReadOnly
		if c.ScalingFactor != nil {
			want.Scale = *c.ScalingFactor
		}
		require.Equal(t, want, c.Tag(nil), "of a tag that the driver does not know: %s", text)
	}
}

func TestAPercentOfTheDriversRange(t *testing.T) {
	c := Config{TagID: "a", DriverID: "plc", DataType: tags.Float, DeadbandPercent: tags.Ptr(5)}
	require.NoError(t, c.Validate())
	c.NoMin = true
	require.Error(t, c.Validate())
	c = Config{TagID: "a", DriverID: "plc", DataType: tags.Float, DeadbandPercent: tags.Ptr(101)}
	require.Error(t, c.Validate())
	c.DeadbandPercent = tags.Ptr(-1)
	require.Error(t, c.Validate())
}

func TestNullInTheModelFileTakesALimitOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	text := `{"variables":[{"tagId":"a","driverId":"plc","dataType":"Float","minValue":null}]}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := Open(t.Context(), Options{Path: path, Logger: quiet()})
	require.NoError(t, err)
	require.True(t, s.Configured()[0].NoMin)
	_, err = s.Bulk(context.Background(), []Config{{TagID: "b", DriverID: "plc", DataType: tags.Int}})
	require.NoError(t, err)
	again, err := Open(t.Context(), Options{Path: path, Logger: quiet()})
	require.NoError(t, err)
	require.Equal(t, s.Configured(), again.Configured())
}

func TestUnknownMembersAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	put := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	put(`{"owner":"ops","variables":[{"tagId":"a","driverId":"plc","dataType":"Float","maxValu":5,"note":""}]}`)
	var log bytes.Buffer
	s, err := Open(t.Context(), Options{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	want := []string{"owner", "variables.maxValu", "variables.note"}
	require.Equal(t, want, s.Unknown())
	require.NoError(t, s.Err())
	_, err = s.Bulk(context.Background(), []Config{{TagID: "b", DriverID: "plc", DataType: tags.Int}})
	require.NoError(t, err)
	require.Equal(t, want, s.Unknown(), "they survive a rewrite")
	put(`{"owner":"me","variables":[{"tagId":"a","driverId":"plc","dataType":"Int","maxValu":5,"note":""}]}`)
	require.NoError(t, s.Reload(context.Background()))
	require.Equal(t, 1, strings.Count(log.String(), "not known"), "told once")
	put(`{"variables":[]}`)
	require.NoError(t, s.Reload(context.Background()))
	require.Empty(t, s.Unknown())
}
