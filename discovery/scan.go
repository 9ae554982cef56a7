package discovery

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// The mDNS service types.
const (
	BridgeService = "_platform-bridge._tcp"
	EngineService = "_platform-engine._tcp"
)

// The limits of a scan.
const (
	MinScan     = time.Second
	MaxScan     = 30 * time.Second
	DefaultScan = 5 * time.Second

	maxScans = 8 // of different times, at the same time
	maxSeen  = 1000
	seenFor  = 10 * time.Minute
	maxURLs  = 8 // of a binding
)

// Scanner finds services on the network. Package mdns has one.
type Scanner interface {
	// Scan returns what answers until ctx ends, which is not an error.
	Scan(ctx context.Context, service string) ([]Found, error)
}

// sighting is what a scan has found of a bridge.
type sighting struct {
	urls []string
	at   time.Time
}

// Scan looks for bridges for a time from MinScan to MaxScan, 0 for DefaultScan, and returns them by id. With excludeBound it omits those that are
// bound to any engine; one that was released at the bridge is not. Scans of the same time share a search, and end with it. If too many others
// run, it returns ErrScansBusy.
func (s *Service) Scan(ctx context.Context, timeout time.Duration, excludeBound bool) ([]BridgeInfo, error) {
	timeout = cmp.Or(timeout, DefaultScan)
	if timeout < MinScan || timeout > MaxScan {
		return nil, ErrInvalid.Invalid(fault.Field{Field: "timeoutSeconds", Message: "must be 1 to 30"})
	}
	all, err := s.share(ctx, timeout)
	if err != nil || !excludeBound {
		return all, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(all, func(b BridgeInfo) bool {
		known := s.bridge[b.BridgeID]
		return b.Status == Bound || known != nil && !s.isReleased(known)
	}), nil
}

// shared is a search that several scans wait for.
type shared struct {
	end   context.CancelFunc
	users int           // that wait; guarded by Service.mu
	done  chan struct{} // closed when the following are set
	found []BridgeInfo
	err   error
}

// share joins the search of the same time that runs, or begins one. It ends when nobody waits for it.
func (s *Service) share(ctx context.Context, timeout time.Duration) ([]BridgeInfo, error) {
	s.mu.Lock()
	one := s.scans[timeout]
	if one == nil {
		if len(s.scans) >= maxScans {
			s.mu.Unlock()
			return nil, ErrScansBusy.Because("at most %d", maxScans)
		}
		one = &shared{done: make(chan struct{})}
		s.scans[timeout] = one
		var search context.Context
		search, one.end = context.WithCancel(context.WithoutCancel(ctx))
		go s.search(search, timeout, one)
	}
	one.users++
	s.mu.Unlock()
	select {
	case <-one.done:
		return slices.Clone(one.found), one.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	one.users--
	last := one.users == 0
	if last {
		s.over(timeout, one)
	}
	s.mu.Unlock()
	if last {
		one.end()
		<-one.done
	}
	return nil, ctx.Err()
}

func (s *Service) search(ctx context.Context, timeout time.Duration, one *shared) {
	defer one.end()
	one.found, one.err = s.browse(ctx, timeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over(timeout, one)
	close(one.done)
}

// over lets the next scan begin another search. Service.mu is held.
func (s *Service) over(timeout time.Duration, one *shared) {
	if s.scans[timeout] == one {
		delete(s.scans, timeout)
	}
}

// browse scans and remembers where bridges are.
func (s *Service) browse(ctx context.Context, timeout time.Duration) ([]BridgeInfo, error) {
	all := []BridgeInfo{}
	if s.searches.scanner == nil {
		return all, nil
	}
	scanning, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := s.searches.scanner.Scan(scanning, BridgeService)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, ErrScanFailed.Wrap(err)
	}
	now := s.now()
	for i := range found {
		if b, ok := infoOf(&found[i], now); ok && !slices.ContainsFunc(all, b.same) {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b BridgeInfo) int {
		return cmp.Or(cmp.Compare(a.BridgeID, b.BridgeID), cmp.Compare(a.BaseURL, b.BaseURL))
	})
	s.remember(all, now)
	return all, nil
}

func (b *BridgeInfo) same(other BridgeInfo) bool {
	return b.BridgeID == other.BridgeID && b.BaseURL == other.BaseURL
}

// remember keeps the addresses of bridges for when they are bound. Several hosts may claim one id: the first that answers with it counts.
func (s *Service) remember(all []BridgeInfo, now time.Time) {
	urls := map[string][]string{}
	for i := range all {
		urls[all[i].BridgeID] = append(urls[all[i].BridgeID], all[i].Addresses...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, old := range s.seen {
		if now.Sub(old.at).Abs() > seenFor {
			delete(s.seen, id)
		}
	}
	for id, list := range urls {
		if s.seen[id].urls != nil || len(s.seen) < maxSeen {
			s.seen[id] = sighting{urls: list, at: now}
		}
	}
}

// infoOf reads an advertisement. One without an id, an address or a known status is of no use.
func infoOf(f *Found, now time.Time) (BridgeInfo, bool) {
	status, ok := map[string]BridgeStatus{"free": Free, "binding": InProgress, "bound": Bound}[strings.ToLower(f.Text["status"])]
	id := f.Text["bridgeId"]
	if !ok || checkBridgeID(id) != "" || len(f.Addresses) == 0 || f.Port < 1 || f.Port > math.MaxUint16 {
		return BridgeInfo{}, false
	}
	scheme := "http"
	if f.Text["tls"] == "1" {
		scheme = "https"
	}
	b := BridgeInfo{BridgeID: id, HostName: clean(f.HostName), Address: f.Addresses[0].String(), Port: f.Port,
		Version: clean(f.Text["version"]), Status: status, DriverType: clean(f.Text["driverType"]), TenantID: clean(f.Text["tenantId"]),
		BoundEngineID: clean(f.Text["boundEngineId"]), DiscoveredAt: now, Name: clean(f.Text["name"]), Location: clean(f.Text["location"])}
	if n, err := strconv.Atoi(f.Text["tagCount"]); err == nil && n > 0 {
		b.TagCount = n
	}
	b.Addresses = f.URLs(scheme)
	b.Addresses = b.Addresses[:min(len(b.Addresses), maxURLs)]
	b.BaseURL = b.Addresses[0]
	return b, true
}

// clean removes what is not valid from a text of the network.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
