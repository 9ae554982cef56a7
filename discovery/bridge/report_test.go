package bridge_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

// An outage of days leaves one line for each reason, not one for each attempt.
func TestEachReasonWhyTheLinkIsNotOpenIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRig(t, 1, func(o *bridge.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		r.bind()
		pass(time.Second)
		require.True(t, r.host.Link().Connected)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(link.ErrEnded)
		pass(time.Hour)
		text := log.String()
		require.Equal(t, 1, strings.Count(text, "no link to the engine; retrying"), text)
		require.Equal(t, 1, strings.Count(text, "level=WARN"), "that the engine stops is none")
		require.Contains(t, text, link.ErrEnded.Message)
		require.Contains(t, text, "connection refused")
	})
}
