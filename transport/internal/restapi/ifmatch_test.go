package restapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

func TestIfMatch(t *testing.T) {
	require.Nil(t, restapi.IfMatch(nil))
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
		{[]string{""}, false},
		{[]string{"", " , "}, false},
		{[]string{`W/"7"`}, false},
		{[]string{`"70"`}, false},
	} {
		require.Equal(t, c.want, restapi.IfMatch(c.values)(restapi.ETag(7)), c.values)
	}
}

func TestUnquotedEntityTagsAreRefused(t *testing.T) {
	for _, fine := range []string{"*", `"7"`, `W/"7"`, `"6", "7"`} {
		require.NoError(t, restapi.Unquoted([]string{fine}), fine)
	}
	for _, empty := range []string{"", " ", " , "} { // a variable of a script that is not set
		require.ErrorContains(t, restapi.Unquoted([]string{empty}), "If-Match must not be empty")
	}
	err := restapi.Unquoted([]string{"512b"})
	require.ErrorIs(t, err, problem.ErrInvalidRequest)
	require.ErrorContains(t, err, `If-Match must be an ETag with its quotes, such as "512b"`)
}
