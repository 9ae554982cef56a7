//go:build unix

package devicestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/postgres"
)

const (
	engineEnv = "DEVICESTORE_TEST_ENGINE"
	dsnEnv    = "DEVICESTORE_TEST_DSN"
	work      = "device/all"
)

// The TTL is shorter than by default, so that the test is short. With OTKIT_CAMPAIGN=1 it is 3 s, and there are 100 faults.
func campaign() (ttl time.Duration, rounds int) {
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		return 3 * time.Second, 100
	}
	return 900 * time.Millisecond, 4
}

func init() { engine = runEngine }

// yes allows everything but what the service itself refuses.
type yes struct{}

func (yes) Check(s devices.Situation) devices.Decision {
	return devices.Decision{Allowed: true, Time: s.Now}
}

// nobody is how an engine reaches the owner without a bus: not at all.
type nobody struct{ devices.Owner }

func (nobody) Submit(context.Context, devices.Command, string) (devices.Record, error) {
	return devices.Record{}, devices.ErrNotOwner
}

func (nobody) Changes(_ context.Context, after devices.Position, _ int) ([]devices.Device, devices.Position, error) {
	return nil, after, devices.ErrNotOwner
}

// printer is an executor that prints what it sends.
type printer struct{ epoch *uint64 }

func (p printer) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	fmt.Println("sent", *p.epoch, o.ID)
	select {
	case <-time.After(100 * time.Millisecond):
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p printer) Stop(_ context.Context, id string) error {
	fmt.Println("sent", *p.epoch, "stop-of-"+id)
	return nil
}

// runEngine is an engine in a process of its own. It commands its device all the time, as long as it has it, and stops it at SIGUSR1.
func runEngine() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	presses := make(chan os.Signal, 1)
	signal.Notify(presses, syscall.SIGUSR1)
	name := os.Getenv(engineEnv)
	db, err := postgres.Open(ctx, postgres.Options{DSN: os.Getenv(dsnEnv)}, clusterstore.Schema(), devicestore.Schema())
	if err != nil {
		return err
	}
	sessions, err := clusterstore.New(db)
	if err != nil {
		return err
	}
	store, err := devicestore.New(db)
	if err != nil {
		return err
	}
	var epoch uint64
	s, err := devices.New(ctx, store, devices.Options{Safety: yes{}, Executor: func(string) devices.Executor { return printer{&epoch} },
		Shared: &devices.Shared{Owner: nobody{}}})
	if err != nil {
		return err
	}
	ttl, _ := campaign()
	m, err := cluster.Join(ctx, cluster.Options{Store: sessions, Engine: name, TTL: ttl, Settle: time.Second,
		Do: func(ctx context.Context, lease *cluster.Held) error {
			reporting, end := context.WithCancel(ctx)
			defer end()
			return s.Run(ctx, lease.Epoch, lease.Valid, func() error {
				epoch = lease.Epoch
				go report(reporting, s, epoch)
				return nil
			})
		}})
	if err != nil {
		return err
	}
	m.SetWork([]cluster.Work{{Name: work, Stays: true}})
	var running sync.WaitGroup
	running.Go(func() { command(ctx, s, name) })
	running.Go(func() { press(ctx, s, name, presses) })
	fmt.Println("ready")
	<-ctx.Done()
	ended, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = m.Close(ended)
	running.Wait()
	return errors.Join(err, s.Close(ended), db.Close(ended))
}

// report lets the devices report, and resets those that were stopped, after a while.
func report(ctx context.Context, s *devices.Service, epoch uint64) {
	for n := 0; ctx.Err() == nil; n++ {
		for _, d := range s.List() {
			_ = s.Report(d.ID, devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall"}})
			if d.StopLatched && n%20 == 19 {
				_, _ = s.Submit(ctx, devices.Command{ID: fmt.Sprint("reset-", epoch, "-", n, d.ID), DeviceID: d.ID, Type: devices.ResetEmergencyStop}, "report")
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// command moves the device of an engine, one command after the other.
func command(ctx context.Context, s *devices.Service, name string) {
	run := time.Now().UnixNano()
	for n := 0; ctx.Err() == nil; n++ {
		c := devices.Command{ID: fmt.Sprint("move-", name, "-", run, "-", n), DeviceID: name, Type: devices.MoveTo, Parameters: map[string]any{"x": 1.0, "y": 2.0}}
		waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
		r, err := s.Submit(waiting, c, name)
		cancel()
		if err == nil && r.Phase.Ended() {
			fmt.Println("end", r.ID, r.Phase)
		} else {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// press stops the device of an engine when it is told to.
func press(ctx context.Context, s *devices.Service, name string, presses <-chan os.Signal) {
	run := time.Now().UnixNano()
	for n := 0; ; n++ {
		select {
		case <-presses:
		case <-ctx.Done():
			return
		}
		at := time.Now()
		r, err := s.Submit(ctx, devices.Command{ID: fmt.Sprint("stop-", name, "-", run, "-", n), DeviceID: name, Type: devices.EmergencyStop}, name)
		fmt.Println("stopped", r.ID, r.Result.Success, time.Since(at).Milliseconds(), err)
	}
}

// engines are processes, and what they have printed.
type engines struct {
	t   *testing.T
	dsn string

	mu    sync.Mutex
	epoch uint64
	owner string    // of the newest epoch
	last  time.Time // when something was sent in it
	sent  map[string]string
	late  int
	told  map[string]string // outcomes, by command
	stops []time.Duration
	ready int
}

func (e *engines) start(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), engineEnv+"="+name, dsnEnv+"="+e.dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(e.t, err)
	require.NoError(e.t, cmd.Start())
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			e.read(name, strings.Fields(lines.Text()))
		}
	}()
	return cmd
}

// read takes note of a line. What is sent in an epoch that has passed is late: it may have been under way when its engine was stopped.
func (e *engines) read(name string, words []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(words) == 1:
		e.ready++
	case words[0] == "sent":
		var epoch uint64
		_, _ = fmt.Sscan(words[1], &epoch)
		if other, ok := e.sent[words[2]]; ok && strings.HasPrefix(words[2], "move") {
			e.t.Errorf("%s was sent by %s and by %s", words[2], other, name)
		}
		e.sent[words[2]] = name
		if epoch < e.epoch {
			e.late++
			return
		}
		e.epoch, e.owner, e.last = epoch, name, time.Now()
	case words[0] == "end":
		e.told[words[1]] = words[2]
	case words[0] == "stopped":
		var took int
		_, _ = fmt.Sscan(words[3], &took)
		e.stops = append(e.stops, time.Duration(took)*time.Millisecond)
		e.told[words[1]] = string(devices.Succeeded)
		if words[2] != "true" {
			e.t.Error("the emergency stop failed:", words)
		}
	}
}

// served waits until something is sent after a time.
func (e *engines) served(since time.Time) time.Duration {
	require.Eventually(e.t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.last.After(since)
	}, time.Minute, 5*time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last.Sub(since)
}

// Three engines on one PostgreSQL are killed and stopped at random, mostly the one that has the devices, without any bus between them. No command
// is sent twice, each has one end, and an emergency stop on another engine is carried out when the devices have moved.
func TestEnginesThatAreKilledAndStopped(t *testing.T) {
	e := &engines{t: t, dsn: pgtest.DSN(t), sent: map[string]string{}, told: map[string]string{}}
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: e.dsn}, clusterstore.Schema(), devicestore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	store, err := devicestore.New(db)
	require.NoError(t, err)
	names := []string{"a", "b", "c"}
	running := map[string]*exec.Cmd{}
	for _, name := range names {
		require.NoError(t, store.AddDevice(t.Context(), devices.Device{ID: name, Name: name, State: devices.Offline}))
		running[name] = e.start(name)
	}
	stop := func() {
		for _, cmd := range running {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
		clear(running)
	}
	t.Cleanup(stop)
	e.served(time.Now())
	r := rand.New(rand.NewPCG(7, 7))
	ttl, rounds := campaign()
	var gaps []time.Duration
	for round := range rounds {
		time.Sleep(2*ttl + time.Duration(r.IntN(int(ttl))))
		e.mu.Lock()
		name, ready := e.owner, e.ready
		e.mu.Unlock()
		if round%5 == 4 {
			name = names[r.IntN(len(names))]
		}
		cmd := running[name]
		kill := round%2 == 0
		if kill {
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		}
		time.Sleep(50 * time.Millisecond) // what it had printed has come
		at := time.Now()
		other := names[(slices.Index(names, name)+1+r.IntN(2))%3]
		require.NoError(t, running[other].Process.Signal(syscall.SIGUSR1))
		gaps = append(gaps, e.served(at).Round(10*time.Millisecond))
		if kill {
			running[name] = e.start(name)
			require.Eventually(t, func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				return e.ready > ready
			}, time.Minute, 10*time.Millisecond)
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		}
	}
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.stops) == rounds
	}, time.Minute, 10*time.Millisecond)
	time.Sleep(ttl)
	stop()
	time.Sleep(100 * time.Millisecond) // what they had printed has come
	found, err := store.Commands(t.Context(), devices.CommandQuery{Limit: 1_000_000})
	require.NoError(t, err)
	e.mu.Lock()
	defer e.mu.Unlock()
	phases, journal := map[devices.Phase]int{}, map[string]devices.Phase{}
	for _, c := range found {
		phases[c.Phase]++
		journal[c.ID] = c.Phase
		require.True(t, c.Phase.Ended(), "%s is %s", c.ID, c.Phase)
	}
	for id, phase := range e.told {
		require.Equal(t, phase, string(journal[id]), id)
	}
	for id := range e.sent {
		if strings.HasPrefix(id, "move") {
			require.Contains(t, journal, id)
		}
	}
	slices.Sort(gaps)
	slices.Sort(e.stops)
	t.Logf("served again after %s to %s, median %s; emergency stops after %s to %s, median %s; %d late sends; %v", gaps[0], gaps[len(gaps)-1], gaps[len(gaps)/2],
		e.stops[0], e.stops[len(e.stops)-1], e.stops[len(e.stops)/2], e.late, phases)
	require.LessOrEqual(t, e.late, rounds*len(names), "an engine that was stopped does at most what was under way")
}
