package main_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	return fault{name: name, silent: slices.Contains(hosts, busHost), begin: func(e *engine) { c.seats[e].cut(true, hosts...) }, end: func(e *engine) *engine {
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
	f.stays, f.works = true, true
	var before []string
	var failed int
	failures := func(e *engine) int {
		return strings.Count(e.log.String(), "the session of the engine cannot be renewed")
	}
	begin, end := f.begin, f.end
	f.begin = func(e *engine) {
		before, failed = c.lost(e), failures(e)
		begin(e)
	}
	f.during = func(e *engine) {
		other := c.engines[slices.IndexFunc(c.engines, func(other *engine) bool { return other != e })]
		apart := 0
		for k := range c.presses {
			at := e
			tag := fmt.Sprintf("press%d.level", k)
			eventually(c.t, "a value of an engine that is not heard is shown as if it were", func() bool {
				owner := c.owner(k) // work may still move to be spread evenly
				if at = e; owner == e {
					at = other
				}
				shown := at.with(c.token).read(tag)
				return shown.Quality == client.Uncertain && shown.QualityReason == "EngineLost"
			})
			apart += c.refuses(at, k)
		}
		require.Positive(c.t, apart, "no write was refused")
	}
	f.end = func(e *engine) *engine {
		if lost := c.lost(e); failures(e) == failed { // or the machine was too slow for the database
			require.Equal(c.t, before, lost, "leases were lost")
		}
		return end(e)
	}
	return f
}

// refuses asserts that an engine refuses a write to a press that an engine runs of which it does not hear.
func (c *campaign) refuses(at *engine, k int) int {
	value, id := "60000", fmt.Sprintf("press%d", k)
	answer, err := at.with(c.token).WriteTagWithResponse(c.t.Context(), id, "setpoint", nil, client.WriteRequest{Value: &value})
	require.NoError(c.t, err)
	if answer.StatusCode() == http.StatusOK { // it has moved meanwhile
		return 0
	}
	require.Contains(c.t, []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout}, answer.StatusCode(), "%s", answer.Body)
	require.Contains(c.t, string(answer.Body), id)
	return 1
}

var lostLines = regexp.MustCompile(`(?m)^otkit_cluster_leases_left_total\{cause="lost".*$`)

// lost returns how many leases an engine has lost, by kind.
func (c *campaign) lost(e *engine) []string {
	code, _, text := ask(c.t, "GET", e.url+"/metrics", "", "Authorization: Bearer "+c.token)
	require.Equal(c.t, http.StatusOK, code, text)
	require.Contains(c.t, text, "otkit_cluster_leases_taken_total")
	return lostLines.FindAllString(text, -1)
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
	c := newCampaign(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN(), "Cluster__Bus__Url=" + nats.URL()}, devicesHost, fastAndSlow, seats...)
	faults := []fault{c.cutFromDatabase(), c.cut("cut off", hosts...), c.cutFromBus()}
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		faults = append(faults, c.killed(), stopped())
	}
	c.run(campaignRounds(3), faults...)
}
