package main_test

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// tellBoth sends what is critical to both channels, and the rest to the webhook alone.
var tellBoth = []string{"Alerting__Routes__Critical=email,webhook", "Alerting__Routes__Warning=webhook"}

func TestKill9BetweenRaiseAndSend(t *testing.T) {
	t.Parallel()
	const rounds, critical, warnings = 3, 4, 150
	data := t.TempDir()
	receiver := newHookWithRoom(t, true, make(chan struct{}, critical+warnings))
	box, addr, open := closedMailbox(t)
	env := with(known, mailTo(addr), receiver.settings(), tellBoth)
	for round := range rounds {
		e := start(t, env, "-data", data)
		taken, _ := receiver.counts()
		e.told(alerts("critical", fmt.Sprintf("reactor-%d", round), critical)...)
		e.told(alerts("warning", fmt.Sprintf("pump-%d", round), warnings)...)
		if round > 0 {
			receiver.makeRoom(20)
		}
		eventually(t, "nothing is sent", func() bool {
			now, refused := receiver.counts()
			return now >= taken+20 || round == 0 && refused > 0
		})
		e.kill()
		receiver.up() // in the next rounds the engine is killed in the midst of sending
	}
	open()
	close(receiver.room)
	start(t, env, "-data", data)
	const all = rounds * (critical + warnings)
	eventually(t, "what was pending is not sent", func() bool {
		return len(receiver.keys()) == all && len(box.got()) >= rounds*critical
	})
	for source, keys := range receiver.keys() {
		require.Len(t, keys, 1, "%s was told under two keys", source)
	}
	events := map[string]string{}
	for _, n := range receiver.got() {
		if key := events[n.EventID]; key != "" {
			require.Equal(t, key, n.ID)
		}
		events[n.EventID] = n.ID
	}
	require.Len(t, events, all)
	subjects := box.subjects()
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(subjects))), rounds*critical, "%q", subjects)
	require.Len(t, subjects, rounds*critical, "no mail was under way when the engine was killed")
}

// silentServer takes connections and says nothing.
func silentServer(t testing.TB, addr string) (opened func() int, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		open []net.Conn
	)
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	})
	stop = sync.OnceFunc(func() {
		_ = listener.Close()
		wg.Wait()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	t.Cleanup(stop)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(open)
	}, stop
}

func TestMailServerThatHangsDelaysNoOtherChannel(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	addr := fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t))
	opened, stop := silentServer(t, addr)
	receiver := newHook(t, false)
	env := with(known, mailTo(addr), receiver.settings(), tellBoth)
	e := start(t, env, "-data", data)
	s := e.admin()
	e.told(alerts("critical", "first", 1)...)
	eventually(t, "mail is not tried", func() bool { return opened() > 0 })
	e.told(alerts("critical", "more", 20)...)
	// One by one behind mails that hang for 20 seconds each it would take minutes.
	eventually(t, "the webhook waits for the mail", func() bool { return len(receiver.keys()) == 21 })
	channels, err := s.ListChannelsWithResponse(t.Context())
	require.NoError(t, err)
	require.NotNil(t, channels.JSON200)
	for _, c := range *channels.JSON200 {
		if c.Name == "email" {
			require.Zero(t, c.Sent)
		}
	}
	e.stop()

	stop()
	box, _ := openMailbox(t, addr)
	start(t, env, "-data", data)
	eventually(t, "mail is not sent when the server is well", func() bool { return len(box.got()) == 21 })
	require.Len(t, receiver.got(), 21)
}
