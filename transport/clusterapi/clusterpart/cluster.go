package clusterpart

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/server"
)

// Options configure the part. Store, Bus and Engine are required.
type Options struct {
	Store  cluster.Store
	Bus    bus.Bus // the part closes it
	Engine string  // id of this engine, see cluster.Options

	// What the other engines see of this one.
	Name, Host, URL, Version string
	Labels                   map[string]string

	TTL, Settle time.Duration // see cluster.Options

	// DrainFile is the path of a file that is there while the engine is to give its work to the others, so that this survives a restart and can be
	// set from outside: the file is looked for twice a second. Empty: draining ends with the run.
	DrainFile string

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Cluster is the part. Make it with New. A nil *Cluster is that of an engine that is alone: its methods say so.
type Cluster struct {
	opts   Options
	member *cluster.Member
	duties cluster.Duties

	moves moves

	draining sync.Mutex // held while the file and the member are made to agree

	mu   sync.Mutex
	jobs map[string]func(context.Context)
	idle map[string]time.Time // when work that no engine does was first seen, by name
}

// New joins the engines that share the store. What this engine does begins with the start of the server. If an engine of the same id is running, New returns
// cluster.ErrDuplicate.
func New(ctx context.Context, o Options) (*Cluster, error) {
	switch {
	case o.Bus == nil:
		return nil, fault.Option("cluster", "Options.Bus", "is required")
	case o.Store == nil:
		return nil, fault.Option("cluster", "Options.Store", "is required")
	case o.Engine == "":
		return nil, fault.Option("cluster", "Options.Engine", "is required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.TTL = cmp.Or(o.TTL, 3*time.Second)
	c := &Cluster{opts: o, moves: newMoves(), jobs: map[string]func(context.Context){}}
	c.duties.Handle(kindJob, c.doJob)
	var err error
	c.member, err = cluster.Join(ctx, cluster.Options{Store: o.Store, Engine: o.Engine, Do: c.do, Name: o.Name, Host: o.Host, URL: o.URL, Version: o.Version,
		Labels: o.Labels, TTL: o.TTL, Settle: o.Settle, Now: o.Now, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	c.followFile()
	if _, err := o.Bus.Serve(subjectDrain(o.Engine), c.serveDrain); err != nil {
		return nil, errors.Join(err, c.member.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// do does a piece of work, and counts that.
func (c *Cluster) do(ctx context.Context, lease *cluster.Held) error {
	kind, _ := split(lease.Work)
	c.moves.begun(kind)
	defer func() { c.moves.ended(kind, ctx) }()
	err := c.duties.Do(ctx, lease)
	if f, ok := fault.From(err); ok && ctx.Err() == nil {
		c.opts.Logger.Warn("work has ended", "work", lease.Work, "error", err)
		return errors.New(f.Message) // which everybody may see
	}
	return err
}

// split returns the kind and the id of a work.
func split(work string) (kind, id string) {
	kind, id, _ = strings.Cut(work, "/")
	return kind, id
}

// Engine returns the id of this engine; empty if it is alone.
func (c *Cluster) Engine() string {
	if c == nil {
		return ""
	}
	return c.opts.Engine
}

// Name returns the name of this engine for people; empty if it is alone.
func (c *Cluster) Name() string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.opts.Name, c.opts.Engine)
}

// URL returns where this engine is reached, as the others see it; empty if it is not known.
func (c *Cluster) URL() string {
	if c == nil {
		return ""
	}
	return c.opts.URL
}

// Bus returns the bus of the engines, nil for an engine that is alone.
func (c *Cluster) Bus() bus.Bus {
	if c == nil {
		return nil
	}
	return c.opts.Bus
}

// View returns the engines and who does what; see cluster.Member.View.
func (c *Cluster) View() cluster.View {
	if c == nil {
		return cluster.View{}
	}
	return c.member.View()
}

// Alive returns the ids of the engines that run. This one is not in it while it could not renew its session in time: the others may take it for gone.
func (c *Cluster) Alive() (engines []string) {
	if c == nil {
		return nil
	}
	view := c.member.View()
	for i := range view.Sessions {
		if engine := view.Sessions[i].Engine; engine != c.opts.Engine || view.Valid {
			engines = append(engines, engine)
		}
	}
	return engines
}

// Forget removes the loss of a session; see cluster.Member.Forget.
func (c *Cluster) Forget(ctx context.Context, session string) error {
	if c == nil {
		return nil
	}
	return c.member.Forget(ctx, session)
}

// Others reports whether there are other engines.
func (c *Cluster) Others() bool { return c != nil && len(c.member.View().Sessions) > 1 }

// Handle sets what does the work of a kind, such as driver, when this engine has its lease; see cluster.Options.Do. Call it before Set, once for a kind.
func (c *Cluster) Handle(kind string, do func(ctx context.Context, id string, lease *cluster.Held) error) {
	if c != nil {
		c.duties.Handle(kind, do)
	}
}

// Set replaces the work of a kind. Every engine must be given the same, if a little earlier or later. Names are ids, without the kind.
func (c *Cluster) Set(kind string, works []cluster.Work) {
	if c != nil {
		c.duties.Set(kind, works)
	}
}

// Owner returns the session of the engine that holds the lease of a work, with its epoch. ok is false if nobody does, or if it was this engine and it could not
// renew its leases in time.
func (c *Cluster) Owner(kind, id string) (s cluster.Session, epoch uint64, ok bool) {
	if c == nil {
		return s, 0, false
	}
	view := c.member.View()
	lease, held := view.Lease(kind + "/" + id)
	if !held {
		return s, 0, false
	}
	owner, found := view.Session(lease.Session)
	if !found {
		return s, 0, false
	}
	return *owner, lease.Epoch, true
}

// Hindrances returns why each engine that cannot do a work cannot, by the names of the engines.
func (c *Cluster) Hindrances(kind, id string) (reasons []string) {
	if c == nil {
		return nil
	}
	works, view := c.duties.Works(), c.member.View()
	w := cluster.Work{Name: kind + "/" + id}
	if i := slices.IndexFunc(works, func(o cluster.Work) bool { return o.Name == w.Name }); i >= 0 {
		w = works[i]
	}
	for i := range view.Sessions {
		s := &view.Sessions[i]
		if reason := w.Hindrance(s); reason != "" {
			reasons = append(reasons, cmp.Or(s.Name, s.Engine)+": "+reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}

// Held returns the lease of a work that this engine does now, nil if it does not.
func (c *Cluster) Held(kind, id string) *cluster.Held {
	if c == nil {
		return nil
	}
	return c.duties.Held(kind, id)
}

// Want asks the others to leave a work to this engine, or takes that back; see cluster.Member.Want.
func (c *Cluster) Want(kind, id string, want bool) {
	if c != nil {
		c.member.Want(kind+"/"+id, want)
	}
}

// kindJob is the kind of the work of Once.
const kindJob = "job"

// Once returns a job for server.Part.Jobs that runs on one engine at a time: job is called with a context that ends when another engine takes it over, and may
// be called again. If it returns before, it has nothing more to do. An engine that is alone runs it like any other. Names must differ, such as alarms-trim.
func (c *Cluster) Once(name string, job func(ctx context.Context)) func(ctx context.Context) {
	if c == nil {
		return job
	}
	c.mu.Lock()
	c.jobs[name] = job
	works := make([]cluster.Work, 0, len(c.jobs))
	for name := range c.jobs {
		works = append(works, cluster.Work{Name: name})
	}
	c.mu.Unlock()
	c.duties.Set(kindJob, works)
	return func(ctx context.Context) { <-ctx.Done() } // the member runs it
}

func (c *Cluster) doJob(ctx context.Context, name string, _ *cluster.Held) error {
	c.mu.Lock()
	job := c.jobs[name]
	c.mu.Unlock()
	if job == nil {
		return errNoJob.On("job", name)
	}
	job(ctx)
	<-ctx.Done() // or it would count as one that this engine cannot do
	return nil
}

var errNoJob = fault.New(fault.NotFound, "JOB_UNKNOWN", "this engine does not know the job")

// Part returns what the cluster contributes to a server.
func (c *Cluster) Part() server.Part {
	return server.Part{Name: "cluster", Start: c.start, Jobs: []func(context.Context){c.watch}, Drain: c.drain, Close: c.close}
}

// watchInterval is how often a cluster looks at its file, and for work that no engine does.
const watchInterval = 500 * time.Millisecond

func (c *Cluster) watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.followFile()
			c.noteUnassigned()
		case <-ctx.Done():
			return
		}
	}
}

func (c *Cluster) start() { c.duties.Begin(c.member) }

// drain gives the work of this engine to the others. It comes before that of the parts that do it.
func (c *Cluster) drain(ctx context.Context) error { return c.member.Close(ctx) }

func (c *Cluster) close(ctx context.Context) error {
	return errors.Join(c.member.Close(ctx), c.opts.Bus.Close(ctx))
}
