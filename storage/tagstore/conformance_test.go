package tagstore_test

import (
	"testing"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestWriteLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		tagstest.TestWriteLog(t, func(t testing.TB) tags.WriteLog { return fresh(t).Writes() })
	})
}
