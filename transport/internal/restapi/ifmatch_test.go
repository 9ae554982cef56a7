package restapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/internal/restapi"
)

func TestIfMatch(t *testing.T) {
	require.Nil(t, restapi.IfMatch(nil))
	require.Nil(t, restapi.IfMatch([]string{"", " , "}))
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{[]string{`"7"`}, true},
		{[]string{`*`}, true},
		{[]string{`"6", "7"`}, true},
		{[]string{`"6"`, `"7"`}, true},
		{[]string{`"6,7"`}, false},
		{[]string{`7`}, false},
		{[]string{`W/"7"`}, false},
		{[]string{`"70"`}, false},
	} {
		require.Equal(t, c.want, restapi.IfMatch(c.values)(restapi.ETag(7)), c.values)
	}
}
