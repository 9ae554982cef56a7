package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/outbox"
)

func TestItIsAnOutbox(t *testing.T) {
	alertingtest.TestOutbox(t, func(testing.TB) outbox.Store { return newOutbox() })
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	var want string
	for _, boiler := range []string{"boiler-1", "boiler-2", "boiler-3"} {
		want += "HONK [Critical] " + boiler + ": pressure too high\n"
	}
	require.Equal(t, want, out.String()) // no digest
}
