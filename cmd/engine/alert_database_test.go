package main_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

func TestMessagesSurviveKill9OfPostgreSQL(t *testing.T) {
	t.Parallel()
	const all = 300
	database := pgtest.Own(t)
	receiver := newHook(t, false)
	receiver.pause = 5 * time.Millisecond
	e := start(t, with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN()}, known, receiver.settings(), tellBoth), "-data", t.TempDir())
	e.told(alerts("warning", "pump", all)...)
	eventually(t, 20*time.Second, "nothing is sent", func() bool { return len(receiver.got()) > 20 })
	database.Kill()
	require.Less(t, len(receiver.keys()), all, "all was sent before the kill")
	require.Equal(t, http.StatusInternalServerError, e.tell(alerts("warning", "lost", 1)...).StatusCode(), "the sender must repeat it")

	database.Start()
	eventually(t, 60*time.Second, "what was pending is not sent", func() bool { return len(receiver.keys()) == all })
	for source, keys := range receiver.keys() {
		require.Len(t, keys, 1, "%s was told under two keys", source)
	}
	e.told(alerts("warning", "later", 1)...)
	eventually(t, 20*time.Second, "what comes later is not sent", func() bool { return len(receiver.keys()) == all+1 })
}
