package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// View is what a member knows of the engines.
type View struct {
	State
	Self  string // ID of the session of this engine; empty while it has none
	Valid bool   // the leases of this engine stand
	// Seen is when this engine last saw that a session was renewed, by ID, for [time.Since].
	Seen map[string]time.Time
	// Renewed is when this engine last renewed its own session, for [time.Since]. It is older than what the others know.
	Renewed time.Time
	// Err is why the session was not renewed at the last try; nil if it was.
	Err error
}

// View returns what the member last read. The slices and the map are shared: do not change them.
func (m *Member) View() View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return View{State: m.state, Self: m.session.ID, Valid: m.valid(), Seen: m.seen, Renewed: m.renewed, Err: m.failing}
}

// Lease returns the lease of a work if an engine holds it.
func (v *View) Lease(work string) (l Lease, held bool) {
	i, found := slices.BinarySearchFunc(v.Leases, work, func(l Lease, work string) int { return strings.Compare(l.Work, work) })
	if !found || !v.Holds(&v.Leases[i]) {
		return l, false
	}
	return v.Leases[i], true
}

// Holds reports whether an engine holds a lease, as far as this one knows: its own end when it cannot renew them.
func (v *View) Holds(l *Lease) bool { return l.Session != "" && (v.Valid || l.Session != v.Self) }

// Session returns a session by its ID.
func (v *View) Session(id string) (s *Session, found bool) {
	i := slices.IndexFunc(v.Sessions, func(s Session) bool { return s.ID == id })
	if i < 0 {
		return nil, false
	}
	return &v.Sessions[i], true
}

// Unassigned returns those of the works that no engine does.
func (v *View) Unassigned(works []Work) (list []Work) {
	for i := range works {
		if _, held := v.Lease(works[i].Name); !held {
			list = append(list, works[i])
		}
	}
	return list
}

// Hindrance returns why the engine of a session cannot do the work, for people; empty if it can.
func (w *Work) Hindrance(s *Session) string {
	if reason, unable := s.Unable[w.Name]; unable {
		return cmp.Or(reason, "it has failed")
	}
	for _, label := range slices.Sorted(maps.Keys(w.Requires)) {
		switch {
		case w.suits(s, label):
		case label == LabelEngine:
			return fmt.Sprintf("it is not the engine %s", w.Requires[label])
		default:
			return fmt.Sprintf("it does not have the label %s=%s", label, w.Requires[label])
		}
	}
	if s.Draining {
		return "it is drained"
	}
	return ""
}
