package restapi_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

var errChanged = errors.New("changed")

func TestPrecondition(t *testing.T) {
	require.Nil(t, restapi.Precondition(nil, errChanged))
	for _, c := range []struct {
		values []string
		want   error
	}{
		{[]string{`"7"`}, nil},
		{[]string{`*`}, nil},
		{[]string{`"6", "7"`}, nil},
		{[]string{`"6"`, `"7"`}, nil},
		{[]string{`"6,7"`}, errChanged},
		{[]string{`W/"7"`}, errChanged},
		{[]string{`"70"`}, errChanged},
	} {
		require.Equal(t, c.want, restapi.Precondition(c.values, errChanged)(restapi.ETag(7)), c.values)
	}
}

func TestUnquotedEntityTagsAreRefused(t *testing.T) {
	for _, fine := range []string{"*", `"7"`, `W/"7"`, `"6", "7"`} {
		require.NotErrorIs(t, restapi.Precondition([]string{fine}, errChanged)(`"8"`), problem.ErrInvalidRequest, fine)
	}
	for _, empty := range []string{"", " ", " , "} { // a variable of a script that is not set
		require.ErrorContains(t, restapi.Precondition([]string{empty}, errChanged)(`"7"`), "If-Match must not be empty")
	}
	err := restapi.Precondition([]string{"512b"}, errChanged)(`"512b"`)
	require.ErrorIs(t, err, problem.ErrInvalidRequest)
	require.ErrorContains(t, err, `If-Match must be an ETag with its quotes, such as "512b"`)
}
