//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestEngineKilled(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{})
	p.bind()
	for range 3 {
		p.device.counts(t, 50)
		p.engine.kill()
		p.device.counts(t, 100)
		p.engine.start()
		p.login()
		p.linked(true)
	}
	p.device.counts(t, 50)
	p.requireEach(p.complete())
}

// What the bridge had read when it was killed may be missing, if it was not in the buffer yet; nothing else.
func TestBridgeKilled(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{})
	p.bind()
	const rounds = 3
	for round := range rounds {
		p.device.counts(t, 50)
		if round > 0 { // without an engine its buffer is all that has them
			p.engine.kill()
			p.device.counts(t, 50)
		}
		p.bridge.kill()
		p.bridge.start()
		if round > 0 {
			p.device.counts(t, 50)
			p.engine.start()
			p.login()
		}
		p.linked(true)
	}
	p.device.counts(t, 50)
	list := p.complete()
	require.LessOrEqual(t, len(gaps(list)), rounds, gaps(list))
	missing := list[len(list)-1] - list[0] + 1 - int64(len(list))
	require.LessOrEqual(t, missing, int64(rounds*50), gaps(list)) // a second each: a busy machine takes a while to store what was read
	for i := 1; i < len(list); i++ {
		require.Less(t, list[i-1], list[i])
	}
	t.Logf("%d samples; %d of %d kills took %d with them: %v", len(list), len(gaps(list)), rounds, missing, gaps(list))
}

// stopped is longer than everything that waits for the other side: a link is given up after 30 s.
const stopped = 33 * time.Second

func TestEngineStopped(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{})
	p.bind()
	p.device.counts(t, 50)
	p.engine.signal(syscall.SIGSTOP)
	time.Sleep(stopped)
	p.device.counts(t, 1)
	p.engine.signal(syscall.SIGCONT)
	p.linked(true)
	p.device.counts(t, 50)
	p.requireEach(p.complete())
}

func TestBridgeStopped(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{})
	p.bind()
	p.device.counts(t, 50)
	require.Equal(t, client.Written, p.write("7").State)
	require.Equal(t, []string{"7"}, p.device.written())

	p.bridge.signal(syscall.SIGSTOP)
	late := p.write("8")
	require.NotEqual(t, client.Written, late.State)
	time.Sleep(stopped)
	p.linked(false)
	p.bridge.signal(syscall.SIGCONT)
	p.linked(true)
	p.device.counts(t, 50)
	require.Equal(t, []string{"7"}, p.device.written(), "a late write is never carried out")
	require.Equal(t, client.Written, p.write("9").State)
	require.Equal(t, []string{"7", "9"}, p.device.written())
	list := p.complete()
	// The answer of the device to the one request that was on its way came too late for its driver.
	require.LessOrEqual(t, len(gaps(list)), 1, gaps(list))
	for i := 1; i < len(list); i++ {
		require.Less(t, list[i-1], list[i])
		require.LessOrEqual(t, list[i]-list[i-1], int64(3))
	}
}

// write writes the setpoint and returns what became of it.
func (p *plant) write(value string) client.Write {
	p.t.Helper()
	accepted, err := p.WriteTagWithResponse(p.t.Context(), "plc", "setpoint", nil, client.WriteRequest{Value: &value})
	require.NoError(p.t, err)
	require.NotNil(p.t, accepted.JSON200, "%s %s", accepted.Status(), accepted.Body)
	var now client.Write
	eventually(p.t, "the write does not end", func() bool {
		answer, err := p.GetWriteWithResponse(p.t.Context(), accepted.JSON200.WriteID, nil)
		require.NoError(p.t, err)
		require.NotNil(p.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
		now = *answer.JSON200
		return now.State != client.Queued
	})
	return now
}

func TestUnbindWhileUnreachable(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{})
	p.bind()
	p.device.counts(t, 20)
	p.bridge.kill()
	p.linked(false)
	answer, err := p.UnbindBridgeWithResponse(t.Context(), bridgeID)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, answer.StatusCode(), "%s", answer.Body)
	require.Nil(t, p.binding())
	p.bridge.start()
	eventually(t, "the bridge does not become free", func() bool { return p.status() == "free" })
	p.bind()
	p.device.counts(t, 20)
	from := p.device.given() - 10
	p.requireEachSince(p.complete(), from)
}

// requireEachSince is requireEach for the numbers from one on.
func (p *plant) requireEachSince(list []int64, from int64) {
	p.t.Helper()
	for i, n := range list {
		if n >= from {
			p.requireEach(list[i:])
			return
		}
	}
	p.t.Fatalf("nothing from %d on", from)
}

// A buffer that is full drops the oldest entries, says how many, and keeps the order.
func TestBufferCap(t *testing.T) {
	t.Parallel()
	p := newPlant(t, options{bridgeEnv: []string{"OfflineBuffer__MaxSizeMb=8"}, driver: `{"Driver": {"Id": "plc", "Type": "Passive", "Settings": {"Tags": [
		{"Name": "text", "Type": "String:200"}]}}}`})
	p.bind()
	const batch, batches = 5000, 20
	p.ingest(0, batch)
	eventually(t, "the engine does not acknowledge the first batch", func() bool { return len(p.texts()) == batch && p.buffer().Count == 0 })
	p.engine.kill()
	for i := 1; i < batches; i++ {
		p.ingest(i*batch, batch)
	}
	dropped := p.buffer().Dropped
	require.Greater(t, dropped, int64(batch))
	p.engine.start()
	p.login()
	p.linked(true)
	p.alarm(bridgeID, "dropped")
	var list []int64
	eventually(t, "the engine does not get the last sample", func() bool {
		list = p.texts()
		return len(list) > 0 && list[len(list)-1] == batch*batches-1
	})
	require.Equal(t, []string{fmt.Sprintf("%d after %d", int64(batch)+dropped, batch-1)}, gaps(list), "the oldest are missing, and no others")
	t.Logf("%d of %d samples dropped and counted, %d delivered", dropped, batch*batches, len(list))
}

// ingest sends numbered texts.
func (p *plant) ingest(from, count int) {
	p.t.Helper()
	var body strings.Builder
	for n := from; n < from+count; n++ {
		fmt.Fprintf(&body, `,{"name":"text","value":"%08d %0150d","timestamp":%q}`, n, n, p.began.Add(time.Duration(n)*time.Millisecond).Format(time.RFC3339Nano))
	}
	p.post("/api/bridge/ingest/plc", "["+body.String()[1:]+"]", &struct{}{})
}

// texts returns the numbers of the texts in the history.
func (p *plant) texts() (list []int64) {
	for _, point := range p.points("plc.text") {
		if number, _, ok := strings.Cut(point.Value.Text(), " "); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			require.NoError(p.t, err)
			list = append(list, n)
		}
	}
	return list
}

// buffer returns how many entries are not acknowledged, and how many of them were removed.
func (p *plant) buffer() (state struct{ Count, Dropped int64 }) {
	p.t.Helper()
	p.ask("/api/bridge/monitoring/buffer", p.bridgeToken(), &state)
	return state
}
