package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/natstest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// isolated runs a test in a network of its own, see realtest.Isolated, with the command that this process has built.
func isolated(t *testing.T) bool {
	t.Helper()
	require.NoError(t, os.Setenv(builtEnv, binary(t)))
	return realtest.Isolated(t)
}

// What an engine in a network of its own reaches by three lines.
const (
	devicesHost  = "10.83.0.1" // and callers
	databaseHost = "10.84.0.1"
	busHost      = "10.85.0.1"
)

var hosts = []string{devicesHost, databaseHost, busHost}

// farSeat is a seat in a network of its own.
func farSeat(t *testing.T, i int) *seat {
	n, lines := realtest.NewNetwork(t), map[string]*realtest.Wire{}
	for k, host := range hosts {
		near, far := fmt.Sprintf("10.%d.%d.1", 90+k, i), fmt.Sprintf("10.%d.%d.2", 90+k, i)
		lines[host] = n.Wire(t, fmt.Sprintf("near%d-%d", k, i), near+"/24", fmt.Sprintf("far%d-%d", k, i), far+"/24")
		n.Run(t, "ip", "route", "add", host+"/32", "via", near)
	}
	address := fmt.Sprintf("10.90.%d.2", i)
	return &seat{name: fmt.Sprint("engine-", i), data: t.TempDir(), listen: address + ":0", address: address, machine: n.Args, cut: func(broken bool, hosts ...string) {
		for _, host := range hosts {
			quality := realtest.WireQuality{}
			if broken {
				quality.Loss = 1
			}
			lines[host].Set(quality)
		}
	}}
}

// cut is an engine that does not reach hosts.
func (c *campaign) cut(name string, hosts ...string) fault {
	return fault{name: name, begin: func(e *engine) { c.seats[e].cut(true, hosts...) }, end: func(e *engine) *engine {
		c.seats[e].cut(false, hosts...)
		c.joins(e)
		return e
	}}
}

// joins waits until an engine is ready and shows every press.
func (c *campaign) joins(e *engine) {
	eventually(c.t, "an engine does not come back", func() bool {
		answer, err := http.Get(e.url + "/health/ready")
		if err != nil {
			return false
		}
		_ = body(c.t, answer.Body)
		return answer.StatusCode == http.StatusOK
	})
	for k := range c.presses {
		e.with(c.token).good(fmt.Sprintf("press%d.level", k))
	}
}

// cutFromDatabase is an engine that reaches everything but the database. A load balancer sees that it is not ready.
func (c *campaign) cutFromDatabase() fault {
	f := c.cut("cut from the database", databaseHost)
	f.during = func(e *engine) {
		eventually(c.t, "it is ready without a database", func() bool { code, _ := e.report("/health/ready"); return code == http.StatusServiceUnavailable })
	}
	return f
}

// cutFromBus is an engine that reaches everything but the bus: it goes on with its work, but the others do not hear of it, nor it of them.
func (c *campaign) cutFromBus() fault {
	f := c.cut("cut from the bus", busHost)
	f.works = true
	var before map[string]int64
	begin, end := f.begin, f.end
	f.begin = func(e *engine) {
		c.settled()
		before = c.works(e, e)
		begin(e)
	}
	f.during = func(e *engine) {
		other := c.engines[slices.IndexFunc(c.engines, func(other *engine) bool { return other != e })]
		for k := range c.presses {
			id, at := fmt.Sprintf("press%d", k), e
			if _, owned := before[id]; owned {
				at = other
			} else if c.owner(k) == e {
				continue // it has come meanwhile
			}
			s := at.with(c.token)
			eventually(c.t, "a value of an engine that is not heard is shown as if it were", func() bool {
				tag := s.read(id + ".level")
				return tag.Quality == client.Uncertain && tag.QualityReason == "EngineLost"
			})
			value := "60000"
			answer, err := s.WriteTagWithResponse(c.t.Context(), id, "setpoint", nil, client.WriteRequest{Value: &value})
			require.NoError(c.t, err)
			require.Contains(c.t, []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout}, answer.StatusCode(), "%s", answer.Body)
			require.Contains(c.t, string(answer.Body), id)
		}
	}
	f.end = func(e *engine) *engine {
		require.Equal(c.t, before, c.works(e, e), "work has moved")
		return end(e)
	}
	return f
}

// settled waits until no work has moved for longer than the engines wait before they spread it evenly.
func (c *campaign) settled() {
	var before map[string]int64
	var since time.Time
	eventually(c.t, "work does not come to rest", func() bool {
		all := map[string]int64{}
		for _, e := range c.engines {
			maps.Copy(all, c.works(e, e))
		}
		if !maps.Equal(all, before) {
			before, since = all, time.Now()
		}
		return len(all) == len(c.presses) && time.Since(since) > 12*time.Second
	})
}

// works returns the epochs of the presses that an engine runs, as another one says.
func (c *campaign) works(ask, e *engine) map[string]int64 {
	s := ask.with(c.token)
	list, err := s.ListEnginesWithResponse(c.t.Context())
	require.NoError(c.t, err)
	require.NotNil(c.t, list.JSON200, "%s %s", list.Status(), list.Body)
	i := slices.IndexFunc(list.JSON200.Engines, func(status client.EngineStatus) bool { return status.Name == c.seats[e].name })
	require.NotEqual(c.t, -1, i, "%s", list.Body)
	answer, err := s.GetEngineStatusWithResponse(c.t.Context(), list.JSON200.Engines[i].ID)
	require.NoError(c.t, err)
	require.NotNil(c.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	epochs := map[string]int64{}
	for _, w := range answer.JSON200.Works {
		if w.Kind == "driver" && strings.HasPrefix(w.ID, "press") {
			epochs[w.ID] = w.Epoch
		}
	}
	return epochs
}

// TestEnginesAreCutOff cuts engines of a plant off from everything, from the database and from the bus, with the same account as when they are killed. An engine that
// cannot renew its leases stops before they end.
func TestEnginesAreCutOff(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	for _, host := range hosts {
		realtest.Run(t, "ip", "addr", "add", host+"/32", "dev", "lo")
	}
	nats := natstest.StartAt(t, busHost)
	database := pgtest.OwnAt(t, databaseHost)
	var seats []*seat
	for i := range 3 {
		seats = append(seats, farSeat(t, i))
	}
	c := newCampaign(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN(), "Cluster__Bus__Url=" + nats.URL()}, devicesHost, seats...)
	faults := []fault{c.cutFromDatabase(), c.cut("cut off", hosts...), c.cutFromBus()}
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		faults = append(faults, c.killed(), stopped())
	}
	c.run(campaignRounds(3), faults...)
}
