//go:build unix

package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
)

// seat is where an engine of a campaign runs.
type seat struct {
	name, data, listen string
	address            string                                     // from which it asks devices; empty if it shares that with others
	machine            func(name string, args ...string) []string // the command line of a program there; nil for this machine
	cut                func(broken bool, hosts ...string)         // breaks and mends its lines to hosts; nil if it has none
}

// campaign is engines on one database whose presses are written and raise alarms, while engines are lost.
type campaign struct {
	t       *testing.T
	env     []string
	token   string
	presses []*press
	delays  map[string]time.Duration // on-delays of the rules of a press, by the end of their ids

	mu      sync.Mutex
	engines []*engine // that callers use
	seats   map[*engine]*seat

	writes     sync.Map // by press and value: the id that was acknowledged
	refused    atomic.Int64
	excursions [4]excursions // by press
	gaps       []gap
}

// gap is a time in which a press was not served.
type gap struct {
	press int
	fault string
	told  time.Time // until then the other engines were told of its values
	pause
}

// fault is a way to lose an engine.
type fault struct {
	name   string
	begin  func(e *engine)
	during func(e *engine)         // with checks; may be nil
	end    func(e *engine) *engine // returns the engine that is there again
	silent bool                    // it goes on to ask devices for a while, and the other engines are not told
	stays  bool                    // callers go on to use it
	works  bool                    // it goes on with its work
}

// newCampaign starts engines and makes presses, which have alarm rules with some on-delays each.
func newCampaign(t *testing.T, env []string, host string, delays map[string]time.Duration, seats ...*seat) *campaign {
	c := &campaign{t: t, env: with(env, known), delays: delays, seats: map[*engine]*seat{}}
	for _, s := range seats {
		c.engines = append(c.engines, c.start(s))
	}
	s := c.engines[0].admin()
	c.token = s.token
	for k := range c.excursions {
		c.presses = append(c.presses, newPress(t, host))
		id := fmt.Sprintf("press%d", k)
		made, err := s.CreateDriverWithResponse(t.Context(), client.DriverDefinition{ID: id, Type: "Modbus", IPAddress: host, Port: c.presses[k].port,
			PollIntervalMs: 100, TimeoutMs: 1000, Settings: map[string]any{"Tags": []map[string]any{
				{"Name": "level", "Address": "HR:1", "Type": "UInt16"}, {"Name": "setpoint", "Address": "HR:2", "Type": "UInt16", "AccessMode": "ReadWrite"}}}})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, made.StatusCode(), "%s", made.Body)
		for name, delay := range delays {
			s.addRule(rules.Rule{ID: id + name, Tag: id + ".level", Kind: rules.High, Limit: 50, OnDelay: delay, Severity: alarms.Critical, Enabled: true, Message: id + name})
		}
		for _, e := range c.engines {
			e.with(c.token).good(id + ".level")
		}
	}
	return c
}

func (c *campaign) start(s *seat) *engine {
	line := append([]string{binary(c.t)}, "-data", s.data, "-listen", s.listen)
	if s.machine != nil {
		line = s.machine(line[0], line[1:]...)
	}
	e := launch(c.t, line[0], with(c.env, []string{"Cluster__Name=" + s.name}), line[1:]...)
	e.ready()
	c.mu.Lock()
	c.seats[e] = s
	c.mu.Unlock()
	return e
}

// engine returns one of the engines, at random.
func (c *campaign) engine() *engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engines[rand.IntN(len(c.engines))]
}

// owner returns the engine that runs the driver of a press.
func (c *campaign) owner(k int) (owner *engine) {
	eventually(c.t, "nobody runs a driver", func() bool {
		list, err := c.engine().with(c.token).ListDriversWithResponse(c.t.Context())
		require.NoError(c.t, err)
		require.NotNil(c.t, list.JSON200, "%s %s", list.Status(), list.Body)
		i := slices.IndexFunc(*list.JSON200, func(d client.DriverStatus) bool { return d.DriverID == fmt.Sprintf("press%d", k) })
		for _, e := range c.engines {
			if i >= 0 && c.seats[e].name == (*list.JSON200)[i].Engine {
				owner = e
			}
		}
		return owner != nil
	})
	return owner
}

func (c *campaign) client(e *engine) *client.ClientWithResponses {
	api, err := client.NewClientWithResponses(e.url, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+c.token)
		return nil
	}))
	require.NoError(c.t, err)
	return api
}

// write writes values that differ to a press, by whichever engine, until ctx ends.
func (c *campaign) write(ctx context.Context, k int) {
	for v := uint16(1); ctx.Err() == nil; v++ {
		text := strconv.Itoa(int(v))
		call, cancel := context.WithTimeout(ctx, 8*time.Second)
		answer, err := c.client(c.engine()).WriteTagWithResponse(call, fmt.Sprintf("press%d", k), "setpoint", nil, client.WriteRequest{Value: &text})
		cancel()
		switch {
		case err == nil && answer.JSON200 != nil:
			c.writes.Store([2]int{k, int(v)}, answer.JSON200.WriteID)
		default:
			c.refused.Add(1)
		}
		rest(ctx, 20*time.Millisecond, 80*time.Millisecond)
	}
}

// rest waits for a time between two others, or until ctx ends.
func rest(ctx context.Context, least, most time.Duration) {
	select {
	case <-time.After(least + rand.N(most-least)):
	case <-ctx.Done():
	}
}

// run lets engines be lost, and then compares what was acknowledged with what the presses and the journal have.
func (c *campaign) run(rounds int, faults ...fault) {
	began := time.Now()
	ctx, cancel := context.WithCancel(c.t.Context())
	var busy sync.WaitGroup
	for k := range c.presses {
		busy.Go(func() { c.write(ctx, k) })
		busy.Go(func() { c.excursions[k].run(ctx, c.presses[k]) })
	}
	for round := range rounds {
		c.lose(faults[round%len(faults)], round%3 == 0)
	}
	cancel()
	busy.Wait()
	c.account(began)
}

// lose loses the engine that runs a press; if delayed, while the slow alarm of that press is due.
func (c *campaign) lose(f fault, delayed bool) {
	rest(c.t.Context(), time.Millisecond, 3*time.Second)
	k := rand.IntN(len(c.presses))
	if delayed {
		eventually(c.t, "there is no excursion", func() bool { age := c.excursions[k].age(); return age > 2*time.Second && age < 4*time.Second })
	}
	e := c.owner(k)
	if !f.stays { // callers go to the others, as a load balancer sends them
		c.mu.Lock()
		c.engines = slices.DeleteFunc(slices.Clone(c.engines), func(other *engine) bool { return other == e })
		c.mu.Unlock()
	}
	for _, p := range c.presses {
		p.watch()
	}
	at := time.Now()
	f.begin(e)
	rest(c.t.Context(), time.Second, 2*time.Second) // its leases stand
	for _, p := range c.presses {
		p.watchTakers()
	}
	rest(c.t.Context(), 4*time.Second, 6*time.Second)
	for i, p := range c.presses {
		if longest := p.served(c.t); longest.length() > 500*time.Millisecond && !f.works { // or another engine has it
			told := longest.from
			if f.silent {
				told = at
			}
			c.gaps = append(c.gaps, gap{i, f.name, told, longest})
		}
		if from := c.seats[e].address; from != "" && !f.stays {
			require.Less(c.t, p.late(from), time.Second, "%s: two engines ask a press", f.name)
		}
	}
	if f.during != nil {
		f.during(e)
	}
	again := f.end(e)
	if !f.stays {
		c.mu.Lock()
		c.engines = append(c.engines, again)
		c.mu.Unlock()
	}
}

// campaignRounds returns how many faults there are.
func campaignRounds(usual int) (rounds int) {
	if n, err := strconv.Atoi(os.Getenv("OTKIT_CAMPAIGN")); err == nil {
		return n
	}
	return usual
}

func (c *campaign) killed() fault {
	return fault{name: "killed", begin: (*engine).kill, end: func(e *engine) *engine { return c.start(c.seats[e]) }}
}

func stopped() fault {
	return fault{name: "stopped", begin: func(e *engine) { e.signal(syscall.SIGSTOP) }, end: func(e *engine) *engine {
		e.signal(syscall.SIGCONT)
		return e
	}}
}

// TestEnginesAreKilledAndStopped kills engines of a plant and stops them: each device is served again soon, no write that was acknowledged is lost, none is
// carried out twice, and every excursion is one alarm.
func TestEnginesAreKilledAndStopped(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, "127.0.0.1", fastAndSlow, nearSeats(t, 3)...)
	c.run(campaignRounds(3), c.killed(), stopped())
}

func nearSeats(t *testing.T, n int) (seats []*seat) {
	for i := range n {
		seats = append(seats, &seat{name: fmt.Sprint("engine-", i), data: t.TempDir(), listen: "127.0.0.1:0"})
	}
	return seats
}
