package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// DefaultTimeout is how long a check may take.
const DefaultTimeout = 5 * time.Second

// Status is how well something works.
type Status string

// The statuses, from best to worst.
const (
	Healthy   Status = "Healthy"
	Degraded  Status = "Degraded" // works, with something lacking
	Unhealthy Status = "Unhealthy"
)

// Result is what a check found. Anyone who can reach the server may read it.
type Result struct {
	Status      Status         `json:"status"`
	Description string         `json:"description"`
	Data        map[string]any `json:"data"`
}

// Report is what all checks found; its status is that of the worst.
type Report struct {
	Status  Status            `json:"status"`
	Results map[string]Result `json:"results"`
}

// Check looks at one thing that the server needs.
type Check struct {
	Name  string // unique
	Ready bool   // belongs to readiness too
	// Run must return soon after its context ends. Runs never overlap. A panic counts as
	// Unhealthy.
	Run func(ctx context.Context) Result
}

// Options of a Registry.
type Options struct {
	Timeout time.Duration // for each check; 0 is DefaultTimeout
	Logger  *slog.Logger  // nil discards
	// Members returns further members of the bodies of /health and /health/ready. It must return immediately, with values
	// that JSON has a form for. It may be nil.
	Members func() map[string]any
}

// Registry holds the checks of one server. Safe for concurrent use.
type Registry struct {
	timeout time.Duration
	log     *slog.Logger
	members func() map[string]any
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // running checks

	mu     sync.Mutex
	closed bool
	checks []*check
}

// New returns a Registry without checks, which is Healthy.
func New(o Options) (*Registry, error) {
	if o.Timeout < 0 {
		return nil, fmt.Errorf("health: Timeout is %v, must not be negative", o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Registry{timeout: o.Timeout, log: o.Logger, members: o.Members}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Add adds a check. A name that is taken is an error.
func (r *Registry) Add(c Check) error {
	if c.Name == "" || c.Run == nil {
		return errors.New("health: a check needs Name and Run")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.checks {
		if other.Name == c.Name {
			return fmt.Errorf("health: check %q exists already", c.Name)
		}
	}
	r.checks = append(r.checks, &check{Check: c})
	return nil
}

// Run runs all checks concurrently, or only those for readiness. Callers at the same time share one run
// of each check, so that asking often costs little.
func (r *Registry) Run(ctx context.Context, onlyReady bool) Report {
	var chosen []*check
	var calls []*call
	r.mu.Lock()
	for _, c := range r.checks {
		if c.Ready || !onlyReady {
			chosen = append(chosen, c)
			calls = append(calls, r.start(c))
		}
	}
	r.mu.Unlock()
	report := Report{Status: Healthy, Results: make(map[string]Result, len(chosen))}
	for i, c := range chosen {
		result := calls[i].wait(ctx)
		report.Results[c.Name] = result
		report.Status = worse(report.Status, result.Status)
	}
	return report
}

// Close ends running checks and waits for them until ctx ends. Later runs are Unhealthy.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("health: a check does not end: %w", ctx.Err())
	}
}

// check is a Check and its run under way, if there is one.
type check struct {
	Check
	running *call
}

// call is one run of a check.
type call struct {
	ctx    context.Context // ends when the check's time is over
	done   chan struct{}
	result Result // valid once done is closed
}

// start joins the run under way or begins one. r.mu is held.
func (r *Registry) start(c *check) *call {
	if c.running != nil {
		return c.running
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	run := &call{ctx: ctx, done: make(chan struct{})}
	if r.closed {
		cancel()
		return run
	}
	c.running = run
	r.wg.Go(func() {
		defer cancel()
		run.result = r.guarded(ctx, c.Check)
		r.mu.Lock()
		c.running = nil
		r.mu.Unlock()
		close(run.done)
	})
	return run
}

// guarded runs a check and makes its result fit to be shown.
func (r *Registry) guarded(ctx context.Context, c Check) (result Result) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("health check panicked", "check", c.Name, "panic", v, "stack", string(debug.Stack()))
			result = Result{Status: Unhealthy, Description: "the check itself failed"}
		}
		result = result.complete()
	}()
	return c.Run(ctx)
}

func (r Result) complete() Result {
	if r.Status != Healthy && r.Status != Degraded && r.Status != Unhealthy {
		r.Status = Unhealthy
	}
	if r.Data == nil {
		r.Data = map[string]any{}
	}
	return r
}

// wait returns the result, or Unhealthy when the check's time or the caller's is over.
func (c *call) wait(ctx context.Context) Result {
	select {
	case <-c.done:
		return c.result
	case <-c.ctx.Done():
	case <-ctx.Done():
	}
	select { // a result that came in the same moment counts
	case <-c.done:
		return c.result
	default:
		return Result{Status: Unhealthy, Description: "no answer in time"}.complete()
	}
}

func worse(a, b Status) Status {
	for _, s := range [...]Status{Unhealthy, Degraded} {
		if a == s || b == s {
			return s
		}
	}
	return Healthy
}
