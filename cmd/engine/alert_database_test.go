package main_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

func TestMessagesSurviveKill9OfPostgreSQL(t *testing.T) {
	t.Parallel()
	const all = 300
	database := pgtest.Own(t)
	receiver := newHookWithRoom(t, false, make(chan struct{}, all))
	receiver.makeRoom(20)
	e := start(t, with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN()}, known, receiver.settings(), tellBoth), "-data", t.TempDir())
	e.told(alerts("warning", "pump", all)...)
	eventually(t, "nothing is sent", func() bool { return len(receiver.got()) == 20 })
	database.Kill()
	close(receiver.room)
	require.Equal(t, http.StatusInternalServerError, e.tell(alerts("warning", "lost", 1)...).StatusCode(), "the sender must repeat it")

	database.Start()
	eventually(t, "what was pending is not sent", func() bool { return len(receiver.keys()) == all })
	for source, keys := range receiver.keys() {
		require.Len(t, keys, 1, "%s was told under two keys", source)
	}
	e.told(alerts("warning", "later", 1)...)
	eventually(t, "what comes later is not sent", func() bool { return len(receiver.keys()) == all+1 })
}
