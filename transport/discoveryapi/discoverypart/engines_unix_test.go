//go:build unix

package discoverypart_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

const (
	dsnEnv     = "DISCOVERYPART_TEST_DSN"
	addressEnv = "DISCOVERYPART_TEST_ADDRESS"
)

func init() { discoverypart.RunEngine = runEngine }

// The TTL is shorter than by default, so that the test is short. With OTKIT_CAMPAIGN=1 it is 3 s, and there are 50 faults.
func campaign() (ttl time.Duration, rounds int) {
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		return 3 * time.Second, 50
	}
	return 900 * time.Millisecond, 4
}

// database is what the engines have in common.
type database struct {
	*storage.DB
	sessions *clusterstore.Store
	bindings *bindingstore.Store
	history  *historystore.Store
	alarms   *alarmstore.Store
	writes   *tagstore.Store
	config   *tagconfigstore.Store
}

func openDatabase(ctx context.Context, dsn string) (*database, error) {
	db, err := postgres.Open(ctx, postgres.Options{DSN: dsn}, clusterstore.Schema(), bindingstore.Schema(), historystore.Schema(), alarmstore.Schema(),
		tagstore.Schema(), tagconfigstore.Schema())
	if err != nil {
		return nil, err
	}
	d := &database{DB: db}
	errs := make([]error, 6)
	d.sessions, errs[0] = clusterstore.New(db)
	d.bindings, errs[1] = bindingstore.New(db)
	d.history, errs[2] = historystore.New(db, historystore.Options{})
	d.alarms, errs[3] = alarmstore.New(db)
	d.writes, errs[4] = tagstore.New(db)
	d.config, errs[5] = tagconfigstore.New(db)
	return d, errors.Join(errs...)
}

// runEngine is an engine in a process of its own.
func runEngine() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	name, address := os.Getenv(discoverypart.EngineEnv), os.Getenv(addressEnv)
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := openDatabase(ctx, os.Getenv(dsnEnv))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("engine", name)
	ttl, _ := campaign()
	cl, err := clusterpart.New(ctx, clusterpart.Options{Store: db.sessions, Bus: bus.NewMemory().Join(), Engine: name, Name: name, Host: "here",
		URL: "http://" + address, TTL: ttl, Settle: time.Second, Logger: log})
	if err != nil {
		return err
	}
	tagsPart, err := tagspart.New(ctx, tagspart.Options{Config: db.config.Of(name), Writes: db.writes, HistoryStore: db.history, Cluster: cl, Logger: log})
	if err != nil {
		return err
	}
	alarmsPart, err := alarmspart.New(ctx, tagsPart, alarmspart.Options{Alarms: db.alarms, Resolutions: db.alarms, Rules: db.alarms, RuleStates: db.alarms, DataDir: dir,
		Cluster: cl, Poll: 50 * time.Millisecond, Logger: log})
	if err != nil {
		return err
	}
	var s *server.Server
	part, err := discoverypart.New(ctx, tagsPart, alarmsPart, nil, discoverypart.Options{EngineID: name, Store: db.bindings, Cluster: cl, Heartbeat: time.Second, Logger: log,
		Endpoint: discoverypart.Endpoint{Addr: func() net.Addr { return s.Addr() }}})
	if err != nil {
		return err
	}
	admin := auth.AuthenticatorFunc(func(context.Context, auth.Request) (*auth.Principal, error) {
		return &auth.Principal{Issuer: "plant", Subject: "ann", Name: "Ann", Role: accounts.Admin}, nil
	})
	s, err = server.New(ctx, server.Options{Authenticator: admin, Listen: address, Logger: log}, cl.Part(), tagsPart.Part(), alarmsPart.Part(), part.Part())
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(s.Close(ending), db.Close(ending))
}

// process is an engine.
type process struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

// processes are engines on one PostgreSQL, and a bridge in this process.
type processes struct {
	t       *testing.T
	db      *database
	dsn     string
	engines map[string]*process
	bridge  string // its URL
	device  *counter
}

func (p *processes) start(name string) {
	p.t.Helper()
	e := p.engines[name]
	if e == nil {
		e = &process{url: fmt.Sprintf("http://127.0.0.1:%d", realtest.FreePort(p.t))}
		p.engines[name] = e
	}
	e.cmd = exec.Command(os.Args[0], "-test.run=^$")
	e.cmd.Env = append(os.Environ(), discoverypart.EngineEnv+"="+name, dsnEnv+"="+p.dsn, addressEnv+"="+strings.TrimPrefix(e.url, "http://"))
	e.cmd.Stderr = &e.log
	require.NoError(p.t, e.cmd.Start())
	p.eventually("the engine answers", func() bool { return p.get(e.url+"/health/live", nil) == nil })
}

func (p *processes) eventually(what string, check func() bool) {
	p.t.Helper()
	for end := time.Now().Add(60 * time.Second); !check(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatal(what)
		}
	}
}

// get reads JSON.
func (p *processes) get(url string, into any) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// post sends JSON to an engine.
func (p *processes) post(url string, body, into any) {
	p.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(p.t, err)
	answer, err := http.Post(url, "application/json", bytes.NewReader(text)) //nolint:gosec // this test's
	require.NoError(p.t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Less(p.t, answer.StatusCode, 300, url)
	if into != nil {
		require.NoError(p.t, json.NewDecoder(answer.Body).Decode(into))
	}
}

// linked returns where the bridge says that its link is open; empty if it is not.
func (p *processes) linked() string {
	var health struct {
		Results map[string]struct {
			Data struct {
				IsConnected bool
				EngineURL   string `json:"engineUrl"`
			}
		}
	}
	_ = p.get(p.bridge+"/health", &health)
	if one := health.Results["engine-connectivity"]; one.Data.IsConnected {
		return one.Data.EngineURL
	}
	return ""
}

// owner waits until the link is open and all engines say so, and returns who has it.
func (p *processes) owner() (name string) {
	p.t.Helper()
	p.eventually("the link is open, and all say so", func() bool {
		name = ""
		at := p.linked()
		for n, e := range p.engines {
			var list []struct{ IsLinkOpen bool }
			if p.get(e.url+"/api/discovery/bindings", &list) != nil || len(list) != 1 || !list[0].IsLinkOpen {
				return false
			}
			if e.url == at {
				name = n
			}
		}
		return name != ""
	})
	return name
}

func newProcesses(t *testing.T, names ...string) *processes {
	p := &processes{t: t, dsn: pgtest.DSN(t), engines: map[string]*process{}}
	var err error
	p.db, err = openDatabase(t.Context(), p.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.db.Close(context.Background())) })
	t.Cleanup(func() {
		for name, e := range p.engines {
			_ = e.cmd.Process.Signal(syscall.SIGCONT)
			_ = e.cmd.Process.Signal(syscall.SIGTERM)
			_ = e.cmd.Wait()
			if t.Failed() {
				text := e.log.String()
				t.Logf("log of %s: %s", name, text[max(0, len(text)-8000):])
			}
		}
	})
	for _, name := range names {
		p.start(name)
	}
	p.bridge, p.device = startBridge(t)
	p.post(p.engines[names[0]].url+"/api/discovery/bind", map[string]string{"bridgeId": "press-1", "bridgeUrl": p.bridge}, nil)
	p.owner()
	return p
}

// requireAll waits until all is stored that the device has given until now: each number once and in order. It returns how many there are.
func (p *processes) requireAll() int {
	p.t.Helper()
	last, _ := p.device.given()
	var list []int64
	p.eventually(fmt.Sprint("the history reaches ", last), func() bool {
		list = list[:0]
		for one, err := range p.db.history.Range(p.t.Context(), "press.n", time.Time{}, time.Now().Add(time.Hour)) {
			require.NoError(p.t, err)
			if one.Quality == tags.Good {
				list = append(list, one.Value.Int())
			}
		}
		return len(list) > 0 && list[len(list)-1] >= last
	})
	for i := range list {
		require.Equal(p.t, list[0]+int64(i), list[i], "missing, twice, or out of order")
	}
	return len(list)
}

// Three engines on one PostgreSQL are killed and stopped, each time the one that has the link of a bridge.
func TestTheEngineOfABridgeIsKilledAndStopped(t *testing.T) {
	p := newProcesses(t, "a", "b", "c")
	ttl, rounds := campaign()
	now, _ := p.device.given()
	p.post(p.engines["a"].url+"/api/v1/alarm-rules", map[string]any{"id": "high", "tagName": "press.n", "kind": "High", "limit": now + 500, "severity": "Critical",
		"enabled": true, "message": "too high"}, nil)
	r := rand.New(rand.NewPCG(7, 7))
	var kills, stops []time.Duration
	for round := range rounds {
		time.Sleep(ttl + time.Duration(r.IntN(int(ttl)))) // the engines have settled, more or less
		name := p.owner()
		e := p.engines[name]
		kill := round%2 == 0
		began := time.Now()
		if kill {
			require.NoError(t, e.cmd.Process.Kill())
		} else {
			require.NoError(t, e.cmd.Process.Signal(syscall.SIGSTOP))
		}
		p.eventually("the link is open at another engine", func() bool { at := p.linked(); return at != "" && at != e.url })
		took := time.Since(began).Round(10 * time.Millisecond)
		if kill {
			kills = append(kills, took)
			_ = e.cmd.Wait()
			p.start(name)
		} else {
			stops = append(stops, took)
			time.Sleep(ttl)
			require.NoError(t, e.cmd.Process.Signal(syscall.SIGCONT))
		}
	}
	p.owner()
	time.Sleep(ttl)
	n := p.requireAll()
	slices.Sort(kills)
	slices.Sort(stops)
	t.Logf("%d samples, none missing, none twice; link open again after a kill in %s to %s, median %s; after a stop in %s to %s, median %s", n,
		kills[0], kills[len(kills)-1], kills[len(kills)/2], stops[0], stops[len(stops)-1], stops[len(stops)/2])
	events, err := p.db.alarms.Events(t.Context(), 0, 10_000)
	require.NoError(t, err)
	var journal []string
	for _, e := range events {
		if (e.Kind == alarms.Raised || e.Kind == alarms.Cleared) && strings.HasPrefix(e.Occurrence.Key, "rule:") {
			journal = append(journal, string(e.Kind)+" "+e.Occurrence.Source)
		}
	}
	require.Equal(t, []string{"Raised press.n"}, journal, "the alarm of the rule once, however often the bridge moves")
}

// What becomes of a write is not known if its engine is killed before the bridge has said so.
func TestAWriteWhoseEngineIsKilled(t *testing.T) {
	p := newProcesses(t, "a", "b")
	name := p.owner()
	hold := make(chan struct{})
	p.device.set(hold)
	var accepted struct {
		WriteID string `json:"writeId"`
	}
	p.post(p.engines[name].url+"/api/v1/tags/press/setpoint/write", map[string]string{"value": "5"}, &accepted)
	require.NotEmpty(t, accepted.WriteID)
	p.eventually("the device has it", func() bool { _, writes := p.device.given(); return len(writes) == 1 })
	require.NoError(t, p.engines[name].cmd.Process.Kill())
	_ = p.engines[name].cmd.Wait()
	other := map[string]string{"a": "b", "b": "a"}[name]
	p.eventually("the outcome is unknown", func() bool {
		var w struct{ State string }
		return p.get(p.engines[other].url+"/api/v1/tags/writes/"+accepted.WriteID, &w) == nil && w.State == string(tags.WriteUnknown)
	})
	close(hold)
	delete(p.engines, name)
	p.owner()
	p.requireAll()
	_, writes := p.device.given()
	require.Equal(t, []int64{5}, writes, "it is not repeated")
}
