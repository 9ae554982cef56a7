package cluster

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

// Work is something that exactly one engine does.
type Work struct {
	Name     string            // such as driver/press-1
	Requires map[string]string // labels that an engine must have; LabelEngine is one that every engine has
	Cannot   string            // why this engine cannot do it, for the others to know; empty if it can
	Weight   int               // how much it is, compared with the others; 0 counts as 1
	Stays    bool              // it is not moved only to spread work evenly: that costs more than an uneven load
}

// LabelEngine is a label whose value is the id of the engine.
const LabelEngine = "engine"

// hysteresis is by which part of the mean load an engine must be above or below it before work moves: to move costs a gap.
const hysteresis = 0.1

// able reports whether the engine of a session can do the work.
func (w *Work) able(s *Session) bool {
	if _, unable := s.Unable[w.Name]; unable || s.Draining {
		return false
	}
	for label := range w.Requires {
		if !w.suits(s, label) {
			return false
		}
	}
	return true
}

// suits reports whether the engine of a session has a label as the work requires it.
func (w *Work) suits(s *Session, label string) bool {
	value := w.Requires[label]
	return s.Labels[label] == value || label == LabelEngine && s.Engine == value
}

// plan says which session should do each work, by name; work that nobody can do is missing. Every member comes to the same plan from
// the same state. Work stays with its holder if that can do it. With balance, engines that do too much give some to others.
func plan(works []Work, state State, balance bool) map[string]string {
	p := planner{sessions: slices.Clone(state.Sessions), load: map[string]int{}, target: make(map[string]string, len(works))}
	slices.SortFunc(p.sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	works = slices.Clone(works)
	slices.SortFunc(works, func(a, b Work) int { // the heaviest first: they are the hardest to place
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.Name, b.Name))
	})
	leases := make(map[string]Lease, len(state.Leases))
	for _, l := range state.Leases {
		leases[l.Work] = l
	}
	var free []*Work
	for i := range works {
		w := &works[i]
		if l := leases[w.Name]; !p.yield(w, l) && !p.keep(w, l.Session) {
			free = append(free, w)
		}
	}
	slices.SortStableFunc(free, func(a, b *Work) int { return cmp.Compare(p.choices(a), p.choices(b)) })
	for _, w := range free {
		p.place(w)
	}
	if balance {
		p.balance(works)
	}
	return p.target
}

func (w *Work) weight() int { return max(w.Weight, 1) }

type planner struct {
	sessions []Session
	load     map[string]int // by session
	target   map[string]string
}

func (p *planner) assign(w *Work, session string) {
	p.target[w.Name] = session
	p.load[session] += w.weight()
}

// yield gives work to an engine that asks for it. One that has asked for an earlier lease is late.
func (p *planner) yield(w *Work, l Lease) bool {
	for i := range p.sessions {
		s := &p.sessions[i]
		if after, wants := s.Wants[w.Name]; wants && after >= l.Epoch && s.ID != l.Session && w.able(s) {
			p.assign(w, s.ID)
			return true
		}
	}
	return false
}

// keep leaves work with its holder if that can do it.
func (p *planner) keep(w *Work, holder string) bool {
	for i := range p.sessions {
		if s := &p.sessions[i]; s.ID == holder && w.able(s) {
			p.assign(w, holder)
			return true
		}
	}
	return false
}

// wanted reports whether a session has asked for the work.
func (p *planner) wanted(w *Work, session string) bool {
	for i := range p.sessions {
		if s := &p.sessions[i]; s.ID == session {
			_, wants := s.Wants[w.Name]
			return wants
		}
	}
	return false
}

// choices counts who can do the work.
func (p *planner) choices(w *Work) (n int) {
	for i := range p.sessions {
		if w.able(&p.sessions[i]) {
			n++
		}
	}
	return n
}

// place gives work to the engine that does least. Among equals a hash decides, so that the first of them does not get all.
func (p *planner) place(w *Work) {
	best, rank := "", uint64(0)
	for i := range p.sessions {
		s := &p.sessions[i]
		if !w.able(s) {
			continue
		}
		r := affinity(w.Name, s.Engine)
		if best == "" || p.load[s.ID] < p.load[best] || p.load[s.ID] == p.load[best] && r > rank {
			best, rank = s.ID, r
		}
	}
	if best != "" {
		p.assign(w, best)
	}
}

// affinity ranks engines for a work.
func affinity(work, engine string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(work + "\x00" + engine))
	return h.Sum64()
}

// balance moves work from engines that do much to such that do little, as long as that evens them out.
func (p *planner) balance(works []Work) {
	total, able := 0, 0
	for i := range p.sessions {
		if !p.sessions[i].Draining {
			able++
			total += p.load[p.sessions[i].ID]
		}
	}
	if able < 2 {
		return
	}
	mean := float64(total) / float64(able)
	if !slices.ContainsFunc(p.sessions, func(s Session) bool {
		return !s.Draining && math.Abs(float64(p.load[s.ID])-mean) > mean*hysteresis
	}) {
		return
	}
	for i := range works { // each is moved once at most
		w := &works[i]
		from := p.target[w.Name]
		if from == "" || w.Stays || p.wanted(w, from) {
			continue
		}
		to := ""
		for k := range p.sessions {
			if s := &p.sessions[k]; w.able(s) && (to == "" || p.load[s.ID] < p.load[to]) {
				to = s.ID
			}
		}
		if to == "" || p.load[from]-p.load[to] < 2*w.weight() {
			continue
		}
		p.load[from] -= w.weight()
		p.assign(w, to)
	}
}
