package main_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a real Alertmanager raises is seen and acknowledged in the console, and goes when it is resolved there.
func TestAnAlertIsAcknowledgedInABrowser(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-data", t.TempDir())
	am := startAlertmanager(t, e.url+"/api/v1.0/alertsource/webhook", alone)
	e.drive("alert.cjs", am.url)
	past := e.admin().raisedSince("reactor-7", time.Now().Add(-time.Hour))
	require.Len(t, past, 1)
	require.False(t, past[0].IsActive)
	require.Equal(t, "admin", *past[0].AcknowledgedBy)
	require.Equal(t, "I am on my way", past[0].Comment)
}
