package tagconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestItemsAreWrittenAsJSONDoes(t *testing.T) {
	list := []Config{{}, full(), item("a"), described("ä\"\\\t\u2028<&>", "\x7f\xff"), {NoMin: true}, {NoMax: true, MinValue: tags.Ptr(2.5)}}
	for _, f := range []float64{0, -0.5, 1e-6, 9.99e-7, 1e20, 1e21, -1e300, 123456789.125, 5e-324} {
		list = append(list, Config{TagID: "n", MinValue: tags.Ptr(f), Deadband: tags.Ptr(f)})
	}
	for i := range list {
		want, err := encodeJSON(list[i])
		require.NoError(t, err)
		got, err := appendJSON(nil, &list[i])
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
