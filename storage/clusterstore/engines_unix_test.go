//go:build unix

package clusterstore_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/postgres"
)

const (
	engineEnv = "CLUSTERSTORE_TEST_ENGINE"
	dsnEnv    = "CLUSTERSTORE_TEST_DSN"
	works     = 8
)

// The TTL is shorter than by default, so that the test is short. With OTKIT_CAMPAIGN=1 it is 3 s, and there are 100 faults.
func campaign() (ttl time.Duration, rounds int) {
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		return 3 * time.Second, 100
	}
	return 900 * time.Millisecond, 4
}

// runEngine is an engine in a process of its own. It prints a line for each step of its work, which only the holder of the lease may take.
func init() { engine = runEngine }

func runEngine() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := postgres.Open(ctx, postgres.Options{DSN: os.Getenv(dsnEnv)}, clusterstore.Schema())
	if err != nil {
		return err
	}
	store, err := clusterstore.New(db)
	if err != nil {
		return err
	}
	ttl, _ := campaign()
	m, err := cluster.Join(ctx, cluster.Options{Store: store, Engine: os.Getenv(engineEnv), TTL: ttl, Settle: time.Second,
		Do: func(ctx context.Context, lease *cluster.Held) error {
			for tick := time.NewTicker(20 * time.Millisecond); ; {
				select {
				case <-tick.C:
				case <-ctx.Done():
					tick.Stop()
					return nil
				}
				if lease.Valid() {
					fmt.Println(lease.Work, lease.Epoch)
				}
			}
		}})
	if err != nil {
		return err
	}
	var all []cluster.Work
	for i := range works {
		all = append(all, cluster.Work{Name: fmt.Sprint("driver/", i)})
	}
	m.SetWork(all)
	<-ctx.Done()
	ended, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := m.Close(ended); err != nil {
		return err
	}
	return db.Close(ended)
}

// engines are processes, and what they have done.
type engines struct {
	t   *testing.T
	dsn string

	mu    sync.Mutex
	epoch map[string]int       // newest, by work
	by    map[string]string    // who did it last, by work and epoch
	last  map[string]time.Time // when it was done last, by work
	late  int
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
			var work string
			var epoch int
			if _, err := fmt.Sscanf(lines.Text(), "%s %d", &work, &epoch); err == nil {
				e.done(name, work, epoch)
			}
		}
	}()
	return cmd
}

// done takes note of a step. One of an epoch that has passed is late: it may have been under way when its engine was stopped.
func (e *engines) done(name, work string, epoch int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprint(work, " ", epoch)
	if other, ok := e.by[key]; ok && other != name {
		e.t.Errorf("epoch %d of %s has two holders, %s and %s", epoch, work, other, name)
	}
	e.by[key] = name
	if epoch < e.epoch[work] {
		e.late++
		return
	}
	e.epoch[work] = epoch
	e.last[work] = time.Now()
}

// served waits until all work is done that began after a time, and returns how long after it that was.
func (e *engines) served(since time.Time) time.Duration {
	var all time.Time
	require.Eventually(e.t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		all = since
		for _, at := range e.last {
			if at.Before(since) {
				return false
			}
			if at.After(all) {
				all = at
			}
		}
		return len(e.last) == works
	}, time.Minute, 5*time.Millisecond)
	return time.Since(since)
}

// Three engines on one PostgreSQL are killed and stopped at random. Their work goes on elsewhere, and no epoch has two holders.
func TestEnginesThatAreKilledAndStopped(t *testing.T) {
	e := &engines{t: t, dsn: pgtest.DSN(t), epoch: map[string]int{}, by: map[string]string{}, last: map[string]time.Time{}}
	names := []string{"a", "b", "c"}
	running := map[string]*exec.Cmd{}
	for _, name := range names {
		running[name] = e.start(name)
	}
	t.Cleanup(func() {
		for _, cmd := range running {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	})
	e.served(time.Now())
	r := rand.New(rand.NewPCG(7, 7))
	ttl, rounds := campaign()
	var gaps []time.Duration
	for round := range rounds {
		time.Sleep(2*ttl + time.Duration(r.IntN(int(ttl)))) // the engines have settled, more or less
		name := names[r.IntN(len(names))]
		cmd := running[name]
		kill := round%2 == 0
		if kill {
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		}
		time.Sleep(50 * time.Millisecond) // what it had printed has come
		gaps = append(gaps, e.served(time.Now()).Round(10*time.Millisecond))
		if kill {
			running[name] = e.start(name)
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(gaps)
	t.Logf("served again after %s to %s, median %s; %d late steps", gaps[0], gaps[len(gaps)-1], gaps[len(gaps)/2], e.late)
	require.LessOrEqual(t, e.late, rounds*works, "an engine that was stopped does at most the step that was under way")
}
