package tagsapi

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// generated returns a snapshot as the generated type, whose encoding is the one that is documented.
func generated(s tags.Snapshot) gen.Tag {
	return gen.Tag{
		Name: s.Tag.Name, Driver: s.Tag.Driver, Address: s.Tag.Address, DataType: gen.DataType(s.Tag.DataType),
		AccessMode: gen.AccessMode(s.Tag.Access), LastUpdated: s.Sample.SourceTime.UTC(),
		ReceivedAt: s.Sample.ServerTime.UTC(), CurrentValue: s.Sample.Value,
		Quality: gen.Quality(s.Sample.Quality.String()), QualityReason: s.Sample.Reason.String(),
		Unit: s.Tag.Unit, Description: s.Tag.Description, MinValue: s.Tag.Min, MaxValue: s.Tag.Max,
	}
}

func TestAnswersAreEncodedAsTheDocumentSays(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 2, 3, 456_000_000, time.FixedZone("", 7200))
	list := []tags.Snapshot{
		{Tag: &tags.Tag{}, Sample: tags.Sample{}},
		{Tag: &tags.Tag{Name: "a.\"b\\<ü>&\n\x7f", Driver: "d", Address: "40001", DataType: tags.Float, Access: tags.ReadWrite, Unit: "°C",
			Description: "Temperature", Min: tags.Ptr(-1e-7), Max: tags.Ptr(1e21)},
			Sample: tags.Sample{Value: tags.FloatValue(21.5), Quality: tags.Good, SourceTime: at, ServerTime: at.UTC()}},
		{Tag: &tags.Tag{Name: "b", Min: tags.Ptr(0), Max: tags.Ptr(math.MaxFloat64)},
			Sample: tags.Sample{Value: tags.StringValue("\xff"), Quality: tags.Bad, Reason: tags.ReasonNotConnected, SourceTime: at.Truncate(time.Second)}},
	}
	failed := []gen.BatchError{{Code: "TAG_NOT_FOUND", Message: "tag not found", Metadata: map[string]string{"tagName": "x"}}}
	all := make([]gen.Tag, len(list))
	for i := range list {
		all[i] = generated(list[i])
	}
	check := func(want any, write func(w *httptest.ResponseRecorder) error) {
		t.Helper()
		text, err := json.Marshal(want)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		require.NoError(t, write(w))
		require.Equal(t, string(text), w.Body.String())
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
	for i := range list {
		check(gen.TagAnswer{Tag: all[i]}, func(w *httptest.ResponseRecorder) error { return tagAnswer{list[i]}.VisitReadTagResponse(w) })
	}
	check(gen.TagList{Tags: all, TotalCount: 7}, func(w *httptest.ResponseRecorder) error { return tagList{list, 7, allMembers}.VisitListTagsResponse(w) })
	check(gen.TagList{Tags: []gen.Tag{}}, func(w *httptest.ResponseRecorder) error { return tagList{}.VisitListTagsResponse(w) })
	check(gen.BatchReadAnswer{Tags: all, Errors: failed}, func(w *httptest.ResponseRecorder) error { return batchAnswer{list, failed}.VisitReadTagsResponse(w) })
}

func TestAnswersHaveTheFieldsThatWereAskedFor(t *testing.T) {
	list := []tags.Snapshot{{Tag: &tags.Tag{Name: "a", Driver: "d", Unit: "bar"}, Sample: tags.Sample{Value: tags.IntValue(7), Quality: tags.Good}}}
	for fields, want := range map[string]string{
		"name,currentValue": `{"tags":[{"currentValue":{"int64Value":7},"name":"a"}],"totalCount":1}`,
		"unit":              `{"tags":[{"unit":"bar"}],"totalCount":1}`,
		"description":       `{"tags":[{}],"totalCount":1}`,
	} {
		wanted, err := membersOf(strings.Split(fields, ","))
		require.NoError(t, err)
		w := httptest.NewRecorder()
		require.NoError(t, tagList{list, 1, wanted}.VisitListTagsResponse(w))
		require.Equal(t, want, w.Body.String(), fields)
	}
	// Each name is that of the member: alone, it leaves this member and no other.
	full := tags.Snapshot{Tag: &tags.Tag{Name: "a", Driver: "d", Unit: "bar", Description: "x", Min: tags.Ptr(1), Max: tags.Ptr(2)},
		Sample: tags.Sample{Reason: tags.ReasonStale, ServerTime: time.Unix(1, 0)}}
	for i, name := range memberNames {
		text, err := appendTag(nil, full, 1<<i)
		require.NoError(t, err)
		var one map[string]any
		require.NoError(t, json.Unmarshal(text, &one))
		require.Len(t, one, 1)
		require.Contains(t, one, name)
	}
}
