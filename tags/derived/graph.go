package derived

import (
	"slices"
	"sync"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/tags"
)

// source is a tag that others are computed from: one of a device, or a derived one.
type source struct {
	name  string
	node  *node // nil for a tag that is not derived
	users map[*node]struct{}
	state state // for the graph's lock

	// Of a tag that is not derived; for the lock of the inlet.
	in     state
	seq    uint64 // tags.Change.Seq of in
	queued bool
}

// node is a definition in force.
type node struct {
	def     Definition
	kind    tags.DataType // of the tag; empty while it is not known
	program *program      // nil for an alias, and if fault is set
	fault   string        // why the expression cannot be compiled with the types that the inputs have now
	inputs  []*source
	level   int // greater than that of all derived inputs
	dirty   bool
	src     *source

	message string // why the result is Bad
	seen    bool   // it was evaluated
}

// graph computes definitions from what their inputs are. Inputs change at any time; what they change is computed by pass.
type graph struct {
	inlet inlet
	read  func(name string) (tags.Snapshot, error)

	mu      sync.Mutex
	sources map[string]*source
	nodes   map[string]*node
	marked  [][]*node // to be evaluated, by level
	machine vm.VM
	runs    uint64 // evaluations
}

// inlet takes what tags report.
type inlet struct {
	wake    wake.Signal
	mu      sync.Mutex
	sources map[string]*source
	queue   []*source // that have changed
}

func newGraph(read func(name string) (tags.Snapshot, error)) *graph {
	return &graph{read: read, sources: make(map[string]*source), nodes: make(map[string]*node),
		inlet: inlet{wake: wake.NewSignal(), sources: make(map[string]*source)}}
}

// observe takes changes of tags. Those of one call are seen together.
func (in *inlet) observe(changes []tags.Change) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.sources) == 0 {
		return
	}
	found := false
	for i := range changes {
		c := &changes[i]
		s := in.sources[c.Tag.Name]
		if s == nil || c.Late || c.Seq < s.seq {
			continue
		}
		s.seq, found = c.Seq, true
		s.in.observe(c.Tag, &c.Sample, c.Time())
		in.put(s)
	}
	if found {
		in.wake.Set()
	}
}

// put queues a source whose in has changed. The lock is held.
func (in *inlet) put(s *source) {
	if !s.queued {
		s.queued = true
		in.queue = append(in.queue, s)
	}
}

// observe takes over what a tag reports.
func (s *state) observe(t *tags.Tag, sample *tags.Sample, at time.Time) {
	if s.kind != t.DataType {
		*s = state{kind: t.DataType}
	}
	s.missing = sample.Reason == tags.ReasonRemoved
	s.set(sample.Value, sample.Quality, sample.Reason, at)
}

// watch begins to take what a tag reports, from what it is now.
func (g *graph) watch(s *source) {
	g.inlet.mu.Lock()
	g.inlet.sources[s.name] = s
	s.in, s.seq = state{kind: s.state.kind, missing: true}, 0
	g.inlet.mu.Unlock()
	g.look(s)
	g.inlet.mu.Lock()
	s.state = s.in // so that what uses it is compiled by its type
	g.inlet.mu.Unlock()
}

// look takes over what a tag is, unless it has reported something meanwhile.
func (g *graph) look(s *source) {
	snapshot, err := g.read(s.name)
	g.inlet.mu.Lock()
	defer g.inlet.mu.Unlock()
	if s.in.missing || s.in.value.IsZero() {
		s.in.missing = err != nil
		if err == nil {
			at := snapshot.Sample.SourceTime
			if snapshot.Sample.Quality == tags.Bad {
				at = snapshot.Sample.ServerTime
			}
			s.in.observe(snapshot.Tag, &snapshot.Sample, at)
		}
		g.inlet.put(s)
	}
}

// unwatch ends watch.
func (g *graph) unwatch(s *source) {
	g.inlet.mu.Lock()
	defer g.inlet.mu.Unlock()
	delete(g.inlet.sources, s.name)
	if s.queued {
		s.queued = false
		g.inlet.queue = slices.DeleteFunc(g.inlet.queue, func(q *source) bool { return q == s })
	}
}

// source returns what is known of a tag that a node uses. The lock is held.
func (g *graph) source(name string) *source {
	s := g.sources[name]
	if s == nil {
		s = &source{name: name, users: make(map[*node]struct{})}
		g.sources[name] = s
		g.watch(s)
	}
	return s
}

// kind returns the type of a tag, empty if it is not known. The lock is held.
func (g *graph) kind(name string) tags.DataType {
	if n := g.nodes[name]; n != nil {
		return n.kind
	}
	if s := g.sources[name]; s != nil && s.state.kind != "" {
		return s.state.kind
	}
	if snapshot, err := g.read(name); err == nil {
		return snapshot.Tag.DataType
	}
	return ""
}

// saved is what definitions were before a change.
type saved struct {
	put   []Definition
	kinds map[string]tags.DataType
	fresh []string // ids that had none
}

// save returns what definitions are that are about to change, to be given to change if that is taken back.
func (g *graph) save(put []Definition, gone []string) saved {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := saved{kinds: make(map[string]tags.DataType)}
	keep := func(id string) {
		if n := g.nodes[id]; n != nil {
			was.put, was.kinds[id] = append(was.put, n.def), n.kind
		} else {
			was.fresh = append(was.fresh, id)
		}
	}
	for i := range put {
		keep(put[i].ID)
	}
	for _, id := range gone {
		keep(id)
	}
	return was
}

// change removes and puts definitions, of which there is no cycle. kinds has the types of those that are put.
func (g *graph) change(put []Definition, kinds map[string]tags.DataType, remove []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range remove {
		if n := g.nodes[id]; n != nil {
			g.unlink(n)
			delete(g.nodes, id)
			n.src.node = nil
			g.release(n.src, true)
		}
	}
	fresh := make([]*node, 0, len(put))
	for _, d := range put {
		n := g.nodes[d.ID]
		if n != nil {
			g.unlink(n)
			n.program, n.fault, n.message = nil, "", ""
		} else {
			n = &node{src: g.sources[d.ID]}
			if n.src == nil {
				n.src = &source{name: d.ID, users: make(map[*node]struct{})}
				g.sources[d.ID] = n.src
			} else {
				g.unwatch(n.src)
			}
			n.src.node, g.nodes[d.ID] = n, n
			n.src.state = state{}
		}
		if n.def.Expression != d.Expression || n.def.Target != d.Target {
			n.src.state.forgetChange()
		}
		n.def, n.kind, n.seen = d, kinds[d.ID], false
		if n.src.state.kind != n.kind {
			n.src.state = state{kind: n.kind}
		}
		fresh = append(fresh, n)
	}
	for _, n := range fresh {
		g.link(n)
	}
	for _, n := range fresh {
		g.raise(n)
		for u := range n.src.users {
			g.compile(u)
		}
	}
	g.inlet.wake.Set()
}

// unlink takes a node from its inputs.
func (g *graph) unlink(n *node) {
	for _, s := range n.inputs {
		delete(s.users, n)
		g.release(s, false)
	}
	n.inputs, n.program = nil, nil
}

// release forgets a source that nobody uses. One that is not derived any more is watched.
func (g *graph) release(s *source, watch bool) {
	switch {
	case s.node != nil:
	case len(s.users) == 0:
		g.unwatch(s)
		delete(g.sources, s.name)
	case watch:
		s.state = state{kind: s.state.kind, missing: true}
		g.watch(s)
		for u := range s.users {
			g.mark(u)
		}
	}
}

// link compiles a node and connects it with its inputs.
func (g *graph) link(n *node) {
	if n.def.Target != "" {
		n.inputs = []*source{g.source(n.def.Target)}
	} else {
		g.compile(n)
	}
	for _, s := range n.inputs {
		s.users[n] = struct{}{}
	}
	g.mark(n)
}

// compile compiles an expression by the types that its inputs have now.
func (g *graph) compile(n *node) {
	g.mark(n)
	if n.def.Target != "" {
		return
	}
	p, err := compile(n.def.Expression, g.kind)
	if err != nil {
		n.program, n.fault = nil, err.Error()
		if n.inputs == nil { // stored by a program that knew more, or the types are others since
			if names, err := inputsOf(n.def.Expression); err == nil {
				n.inputs = g.all(names)
			}
		}
		return
	}
	if n.inputs == nil {
		n.inputs = g.all(p.inputs)
	}
	p.in = n.inputs // the same expression names them in the same order
	n.program, n.fault = p, ""
}

func (g *graph) all(names []string) []*source {
	list := make([]*source, len(names))
	for i, name := range names {
		list[i] = g.source(name)
	}
	return list
}

// raise sets the level of a node and of those that use it.
func (g *graph) raise(n *node) {
	level := 0
	for _, s := range n.inputs {
		if s.node != nil {
			level = max(level, s.node.level+1)
		}
	}
	if level == n.level {
		return
	}
	n.level = level
	n.dirty = false // marked at another level
	g.mark(n)
	for u := range n.src.users {
		g.raise(u)
	}
}

// mark has a node evaluated by the next pass.
func (g *graph) mark(n *node) {
	if n.dirty {
		return
	}
	n.dirty = true
	for len(g.marked) <= n.level {
		g.marked = append(g.marked, nil)
	}
	g.marked[n.level] = append(g.marked[n.level], n)
}

// pass evaluates what has changed since the last one, each node once and after its inputs, and returns the nodes that have another
// result.
func (g *graph) pass() (changed []*node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drain()
	for level := 0; level < len(g.marked); level++ {
		list := g.marked[level]
		g.marked[level] = nil
		for _, n := range list {
			if !n.dirty || n.level != level || g.nodes[n.def.ID] != n {
				continue
			}
			n.dirty = false
			if !g.evaluate(n) {
				continue
			}
			changed = append(changed, n)
			for u := range n.src.users {
				g.mark(u)
			}
		}
		if cap(list) <= 4096 {
			clear(list)
			g.marked[level] = list[:0]
		}
	}
	return changed
}

// drain takes over what tags have reported.
func (g *graph) drain() {
	g.inlet.mu.Lock()
	queue := g.inlet.queue
	g.inlet.queue = nil
	var retyped []*source
	for _, s := range queue {
		s.queued = false
		if s.in.kind != s.state.kind {
			retyped = append(retyped, s)
		}
		s.state = s.in
	}
	g.inlet.mu.Unlock()
	for _, s := range queue {
		for u := range s.users {
			g.mark(u)
		}
	}
	for _, s := range retyped {
		for u := range s.users {
			g.compile(u)
		}
	}
}

// evaluate computes a node and reports whether its result is another one.
func (g *graph) evaluate(n *node) bool {
	was, first := n.src.state, !n.seen
	n.seen = true
	g.runs++
	s := &n.src.state
	switch {
	case n.def.Target != "":
		g.copyTarget(n)
	case n.program == nil:
		s.set(tags.Value{}, tags.Bad, tags.ReasonConfig, newest(n.inputs))
		n.message = n.fault
	default:
		value, use, bad := n.program.run(&g.machine, n.kind)
		n.message = ""
		if bad != nil {
			n.message, use.reason = bad.text, bad.reason
		}
		s.set(value, use.quality, use.reason, use.at)
	}
	return first || was.value != s.value || was.quality != s.quality || was.reason != s.reason || !was.at.Equal(s.at)
}

// copyTarget makes an alias what its target is.
func (g *graph) copyTarget(n *node) {
	from, s := &n.inputs[0].state, &n.src.state
	n.message = ""
	switch {
	case from.missing || from.kind == "" && from.value.IsZero():
		n.message = "the target does not exist"
		s.set(tags.Value{}, tags.Bad, tags.ReasonConfig, from.at)
	case n.kind != "" && from.kind != n.kind:
		n.message = "the target is of type " + string(from.kind)
		s.set(tags.Value{}, tags.Bad, tags.ReasonType, from.at)
	default:
		s.set(from.value, from.quality, from.reason, from.at)
	}
}

func newest(inputs []*source) (at time.Time) {
	for _, s := range inputs {
		if s.state.at.After(at) {
			at = s.state.at
		}
	}
	return at
}

// reading returns a node's result. The lock is held.
func (n *node) reading() tags.Reading {
	s := &n.src.state
	r := tags.Reading{Value: s.value, Quality: s.quality, Reason: s.reason, Time: s.at}
	if s.quality == tags.Bad {
		r.Value = tags.Value{} // the engine keeps the last one
	}
	return r
}

// lookAgain looks at tags that do not exist, or had no value, because it is not reported that a tag is defined.
func (g *graph) lookAgain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.sources {
		if s.node == nil && (s.state.missing || s.state.value.IsZero()) {
			g.look(s)
		}
	}
	g.inlet.wake.Set()
}

// cycle returns the ids of definitions that depend on each other in a circle, if there are any among put; the first is also the last.
func cycle(put map[string][]string, inputs func(id string) []string) []string {
	const (
		open = 1
		done = 2
	)
	state := make(map[string]int)
	var path []string
	var visit func(id string) bool
	visit = func(id string) bool {
		switch state[id] {
		case done:
			return false
		case open:
			path = append(path, id)
			return true
		}
		list, ok := put[id]
		if !ok {
			list = inputs(id)
		}
		state[id] = open
		path = append(path, id)
		if slices.ContainsFunc(list, visit) {
			return true
		}
		path = path[:len(path)-1]
		state[id] = done
		return false
	}
	for id := range put {
		if visit(id) {
			return path[slices.Index(path, path[len(path)-1]):]
		}
	}
	return nil
}
