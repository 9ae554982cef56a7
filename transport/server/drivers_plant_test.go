package server_test

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/tags"
)

// servers starts Modbus servers that are not ours, and returns their ports.
func servers(t *testing.T, n int) []int {
	t.Helper()
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import pymodbus.server").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		realtest.Skip(t, "no python3 has pymodbus with its server (python3-pymodbus, python3-serial-asyncio)")
	}
	ports, args := make([]int, n), []string{"../../tags/modbus/testdata/plant.py"}
	for i := range ports {
		ports[i] = realtest.FreePort(t)
		args = append(args, strconv.Itoa(ports[i]))
	}
	cmd := exec.Command(python, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for _, port := range ports {
		require.Eventually(t, func() bool {
			conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			return err == nil && conn.Close() == nil
		}, patience, 20*time.Millisecond, "port %d", port)
	}
	return ports
}

// modbusDriver is the definition of a driver with a number of tags, whose registers hold 7 times their number.
func modbusDriver(id string, port, first, count, intervalMs int) map[string]any {
	list := make([]any, count)
	for i := range list {
		list[i] = map[string]any{"Name": fmt.Sprintf("r%d", first+i), "Address": fmt.Sprintf("HR:%d", first+i), "Type": "UInt16"}
	}
	return map[string]any{"id": id, "type": "Modbus", "ipAddress": "127.0.0.1", "port": port, "pollIntervalMs": intervalMs, "backoffMaxMs": 500,
		"settings": map[string]any{"Tags": list}}
}

func (p *platform) awaitRegister(id string, number int) {
	p.t.Helper()
	name := fmt.Sprintf("%s.r%d", id, number)
	require.Eventually(p.t, func() bool {
		s, err := p.Tags().Read(name)
		return err == nil && s.Sample.Quality == tags.Good && s.Sample.Value.Int() == int64(number*7)
	}, patience, time.Millisecond, name)
}

// reads returns the requests of drivers, and the longest cycle that any of them has had lately.
func (p *platform) reads(prefix string) (each map[string]uint64, longest time.Duration) {
	each = map[string]uint64{}
	for _, d := range p.Tags().Drivers() {
		if len(d.ID) > len(prefix) && d.ID[:len(prefix)] == prefix {
			each[d.ID] = d.Reads
			for _, c := range d.Cycles {
				longest = max(longest, c.Reached)
			}
		}
	}
	return each, longest
}

// A plant of 20 devices is built, changed and taken down by calls alone beside 50 that are polled, which keep their connections.
func TestAPlantIsBuiltChangedAndTakenDownBesideOthers(t *testing.T) {
	p := start(t, withTypes)
	const others, built = 50, 20
	ports := servers(t, others+built)
	for i := range others {
		require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, modbusDriver(fmt.Sprintf("other%d", i), ports[i], 0, 20, 200)).status)
	}
	for i := range others {
		p.awaitRegister(fmt.Sprintf("other%d", i), 19)
	}
	watch := func(during func()) (longest time.Duration) {
		done, watched := make(chan struct{}), make(chan time.Duration)
		go func() {
			longest := time.Duration(0)
			for {
				_, now := p.reads("other")
				longest = max(longest, now)
				select {
				case <-done:
					watched <- longest
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		during()
		close(done)
		return <-watched
	}
	before := watch(func() { time.Sleep(2 * time.Second) })
	earlier, _ := p.reads("other")
	began := time.Now()
	during := watch(func() {
		for i := range built {
			id := fmt.Sprintf("new%d", i)
			made := p.call(accounts.Admin, http.MethodPost, driversPath, modbusDriver(id, ports[others+i], 0, 50, 200))
			require.Equal(t, 201, made.status, "%s", made.body)
			tried := p.call(accounts.Admin, http.MethodPost, driversPath+"/"+id+"/test", nil)
			require.Equal(t, true, tried.object(t)["ok"], "%s", tried.body)
		}
		for i := range built {
			p.awaitRegister(fmt.Sprintf("new%d", i), 49)
		}
		for i := range built { // other registers, at the address of another device
			id := fmt.Sprintf("new%d", i)
			changed := p.conditional(http.MethodPut, driversPath+"/"+id, p.etag(id), modbusDriver(id, ports[others+(i+1)%built], 25, 50, 100))
			require.Equal(t, 200, changed.status, "%s", changed.body)
		}
		for i := range built {
			p.awaitRegister(fmt.Sprintf("new%d", i), 74)
			_, err := p.Tags().Read(fmt.Sprintf("new%d.r0", i))
			require.ErrorIs(t, err, tags.ErrTagNotFound)
		}
		for i := range built {
			require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+fmt.Sprintf("/new%d", i), nil).status)
		}
	})
	t.Logf("%d drivers created, tried, changed and removed in %s; longest cycle of the others (200 ms wanted): %s before, %s meanwhile",
		built, time.Since(began).Round(time.Millisecond), before.Round(time.Millisecond), during.Round(time.Millisecond))
	left, _ := p.reads("new")
	require.Empty(t, left)
	list, total, err := p.Tags().List(tags.ListQuery{Pattern: "new%"})
	require.NoError(t, err)
	require.Zero(t, total, "%v", list)
	for _, d := range p.Tags().Drivers() {
		if earlier[d.ID] > 0 {
			require.EqualValues(t, 1, d.Connects, "%s has not been connected again", d.ID)
			require.Greater(t, d.Reads, earlier[d.ID], d.ID)
		}
	}
}

// The values of a new driver of 1,000 tags are there after its first cycle.
func TestADriverOfAThousandTagsReadsThemInItsFirstCycle(t *testing.T) {
	p := start(t, withTypes)
	port := servers(t, 1)[0]
	began := time.Now()
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, modbusDriver("big", port, 0, 1000, 60_000)).status)
	answered := time.Since(began)
	for _, number := range []int{0, 500, 999} {
		p.awaitRegister("big", number)
	}
	t.Logf("answer after %s, all values after %s", answered.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	for _, d := range p.Tags().Drivers() {
		if d.ID == "big" {
			require.EqualValues(t, 8, d.Reads, "125 registers a request: one cycle")
		}
	}
}
