package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestRun(t *testing.T) { require.NoError(t, run(t.Context(), 2)) }

func TestItIsADriver(t *testing.T) {
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New:      func(testing.TB) tags.Driver { return &runtimeDriver{} },
		Readable: []tags.Point{{Address: "/sched/goroutines:goroutines", Type: tags.Int}, {Address: "/gc/gogc:percent", Type: tags.Int}},
		Missing:  tags.Point{Address: "/no/such:metric", Type: tags.Int},
	})
}
