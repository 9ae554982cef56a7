package main_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// relay passes connections on to the engine from a loopback address of its own, as if they came from another
// machine, and returns its URL.
func relay(t *testing.T, e *engine, from string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	if c, err := dialer.Dial("tcp", e.addr); err != nil {
		realtest.Skip(t, "there is no loopback address "+from)
	} else {
		_ = c.Close()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := dialer.DialContext(t.Context(), "tcp", e.addr)
			if err != nil {
				_ = in.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				all.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() { // after the Alertmanagers have ended
		_ = l.Close()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}

// startPair starts two Alertmanagers.
func startPair(t *testing.T, e *engine, clustered, shared bool) [2]*alertmanager {
	t.Helper()
	ports := [2]int{realtest.FreePort(t), realtest.FreePort(t)}
	var pair [2]*alertmanager
	for i := range pair {
		args := []string{fmt.Sprintf("--web.external-url=http://alertmanager-%d.example:9093/", i)}
		if shared {
			args = []string{"--web.external-url=http://alertmanager.example:9093/"}
		}
		if clustered {
			args = append(args, fmt.Sprintf("--cluster.listen-address=127.0.0.1:%d", ports[i]), fmt.Sprintf("--cluster.peer=127.0.0.1:%d", ports[1-i]),
				"--cluster.peer-timeout=1s", "--cluster.settle-timeout=2s")
		} else {
			args = append(args, alone)
		}
		pair[i] = startAlertmanager(t, relay(t, e, fmt.Sprintf("127.0.0.%d", 11+i))+"/api/v1.0/alertsource/webhook", append(args, "--web.route-prefix=/")...)
	}
	return pair
}

// postsFrom counts what one of a pair has posted.
func postsFrom(e *engine, i int) int {
	n := 0
	for line := range strings.Lines(e.log.String()) {
		if strings.Contains(line, "alertsource/webhook") && strings.Contains(line, fmt.Sprintf("remote=127.0.0.%d:", 11+i)) {
			n++
		}
	}
	return n
}

// Prometheus sends its alerts to both of a pair of Alertmanagers, and each posts what the other one posts, or
// in a cluster what the other one has not posted.
func TestPairsOfAlertmanagers(t *testing.T) {
	t.Parallel()
	for _, clustered := range []bool{false, true} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("clustered %v, one externalURL %v", clustered, shared), func(t *testing.T) {
				t.Parallel()
				testPair(t, clustered, shared)
			})
		}
	}
}

func testPair(t *testing.T, clustered, shared bool) {
	e := start(t, with(known, []string{"Alerting__LateWindow=10s"}), "-data", t.TempDir())
	s := e.admin()
	pair := startPair(t, e, clustered, shared)
	began := time.Now().Add(-time.Minute).UTC()
	send := func(a sent, to ...*alertmanager) {
		t.Helper()
		for _, am := range to {
			am.post(a)
		}
	}
	await := func(source string, active bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s is not active: %v", source, active), func() bool {
			_, found := s.activeAlarms()[source]
			return found == active
		})
	}
	life := func(source string) sent {
		t.Helper()
		a := sentFor("north", "critical", source, "Pump has stopped")
		a.StartsAt = &began
		send(a, pair[:]...)
		await(source, true)
		e.morePosts(2)
		now := time.Now().UTC()
		over := a
		over.EndsAt = &now
		send(over, pair[:]...)
		await(source, false)
		return a
	}
	raised := func(source string) int { return len(s.raisedSince(source, began.Add(-time.Minute))) }

	first := life("pump-1")
	life("pump-2")
	life("pump-3")
	for _, source := range []string{"pump-1", "pump-2", "pump-3"} {
		require.Equal(t, 1, raised(source), "told once: %s", source)
		require.NotContains(t, s.activeAlarms(), source)
	}

	var before [2]int
	for i := range pair {
		before[i] = postsFrom(e, i)
	}
	send(first, pair[:]...) // Prometheus was away and comes back
	await("pump-1", true)
	require.Equal(t, 2, raised("pump-1"))

	if !clustered { // one of the two loses Prometheus
		eventually(t, "not both post", func() bool { return postsFrom(e, 0) > before[0] && postsFrom(e, 1) > before[1] })
		now := time.Now().UTC()
		over := first
		over.EndsAt = &now
		send(over, pair[0])
		eventually(t, "the other one does not raise it again", func() bool { return raised("pump-1") == 3 }) // it may be over for a moment only
		await("pump-1", true)
		now = time.Now().UTC()
		over.EndsAt = &now
		send(over, pair[1])
		await("pump-1", false)
	}
}
