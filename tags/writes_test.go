package tags_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMemoryWriteLog(t *testing.T) {
	tagstest.TestWriteLog(t, func(testing.TB) tags.WriteLog { return tags.NewMemoryWriteLog(10_000) })
}

func TestMemoryWriteLogForgetsTheOldest(t *testing.T) {
	l := tags.NewMemoryWriteLog(3)
	for i := range 5 {
		require.NoError(t, l.Put(t.Context(), []tags.Write{{ID: fmt.Sprint(i)}}))
	}
	require.NoError(t, l.Put(t.Context(), []tags.Write{{ID: "3", State: tags.WriteDone}}))
	for i, there := range []bool{false, false, true, true, true} {
		_, err := l.Get(t.Context(), fmt.Sprint(i))
		if there {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, tags.ErrWriteNotFound)
		}
	}
}
