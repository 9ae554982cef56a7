package bridge

import (
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// route is the way to the engine that has the bridge's link. Of the engines of a plant, one has it; the others know which.
type route struct {
	turn  int // of the addresses that are tried
	quick int // attempts without a pause

	sent        string // address to be tried next, once; empty for none
	owner       string // engine that is reached there, as another one says; empty if sent was found in the network
	unreachable string // engine that the bridge was sent to and does not reach
	last        string // address of the last link
	failed      map[string]time.Time
}

const (
	// failedFor is how long an address counts as one that is not reached.
	failedFor = 30 * time.Second
	// maxQuick is how many attempts may follow one another without a pause, beyond one for each address.
	maxQuick = 4
)

func newRoute() *route { return &route{failed: make(map[string]time.Time)} }

// addresses returns where the engines are reached, first where the last link was. manual is Options.EngineURL, which takes the place of the address of the binding.
func (r *route) addresses(s *state, manual string) (list []string) {
	first := s.EngineURL
	if manual != "" {
		first = manual
	}
	list = []string{first}
	if r.last != "" && r.last != first {
		list = []string{r.last, first}
	}
	for _, url := range s.EngineURLs {
		if s.mayDial(url) && !slices.Contains(list, url) {
			list = append(list, url)
		}
	}
	return list
}

// mayDial reports whether the session key may be sent to an address: anybody can name one, and only a pinned key proves who answers.
func (s *state) mayDial(url string) bool {
	return validateURL(url) == nil && (len(s.Pins) == 0 || isHTTPS(url))
}

// next returns the address for the next attempt.
func (r *route) next(addresses []string) string {
	if url := r.sent; url != "" {
		r.sent = ""
		return url
	}
	return addresses[r.turn%len(addresses)]
}

// attempted notes how an attempt has ended, and reports whether the next one follows without a pause. n is the number of addresses.
func (r *route) attempted(s *state, url string, n int, opened bool, err error) (again bool) {
	owner := r.owner
	r.owner = ""
	defer func() {
		if r.quick++; r.quick > n+maxQuick || !again {
			r.quick, again = 0, false
		}
	}()
	switch engine, at := link.SentTo(err); {
	case opened:
		r.turn, r.last, r.unreachable = 0, url, ""
		delete(r.failed, url)
		if errors.Is(err, link.ErrSilent) && n > 1 { // it hangs
			r.failed[url] = time.Now()
			r.turn = 1
			return true
		}
		return false
	case errors.Is(err, link.ErrElsewhere):
		delete(r.failed, url)
		if at != "" && at != url && s.mayDial(at) && time.Since(r.failed[at]) > failedFor {
			r.sent, r.owner = at, engine
			return true
		}
		told := engine != "" && engine != r.unreachable
		r.unreachable = engine
		return told
	}
	r.failed[url] = time.Now()
	if owner != "" { // back to who has sent the bridge there
		r.unreachable = owner
		return true
	}
	r.turn++
	return r.turn%n != 0
}
