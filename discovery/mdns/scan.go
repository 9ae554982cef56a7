package mdns

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/zeroconf/v2"

	"github.com/otkit/otkit/discovery"
)

// What a scan keeps has bounds, whatever the network sends.
const (
	maxFound      = 1024 // services
	maxAddresses  = 16   // addresses of a service
	maxAttributes = 64   // attributes of a service
	maxBrowse     = 4 << 20
)

// ScannerOptions are options of [NewScanner]. The zero value is ready to use.
type ScannerOptions struct {
	// Interfaces are the names of the network interfaces that are asked; none are all.
	Interfaces []string
}

// Scanner finds services. It may be used concurrently.
type Scanner struct {
	interfaces []string
}

// NewScanner returns a Scanner.
func NewScanner(o ScannerOptions) *Scanner { return &Scanner{slices.Clone(o.Interfaces)} }

// Scan asks the network for services of a type such as _http._tcp until ctx ends, and returns those that answered, at most
// 1024, sorted by name. It asks again after 1, 3, 7 and 15 seconds; a service that is found with several texts has the
// newest. Without an interface Scan fails immediately with [ErrNoInterface].
func (s *Scanner) Scan(ctx context.Context, service string) ([]discovery.Found, error) {
	if err := validateType(service); err != nil {
		return nil, err
	}
	found := findings{byName: make(map[instance]*discovery.Found)}
	// A browse returns each service once, and never again when its text changes: each round is a new one.
	for round := time.Second; ctx.Err() == nil; round *= 2 {
		err := s.round(ctx, service, round, &found)
		switch {
		case err != nil && round == time.Second:
			return nil, err
		case err != nil: // the interface has gone, and may come back
			pause(ctx, round)
		}
	}
	return found.list(), nil
}

// round browses over IPv4 and IPv6 for that long. If both are impossible, it fails immediately.
func (s *Scanner) round(ctx context.Context, service string, length time.Duration, found *findings) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	interfaces, err := multicast(s.interfaces)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var errs [2]error
	// One browse for both would fail, and leak a socket, where one of them is switched off.
	for i, family := range []zeroconf.IPType{zeroconf.IPv4, zeroconf.IPv6} {
		wg.Go(func() { errs[i] = found.browse(ctx, service, family, interfaces) })
	}
	wg.Wait()
	if errs[0] != nil && errs[1] != nil {
		return errors.Join(ErrNoInterface, errs[0], errs[1])
	}
	<-ctx.Done()
	return nil
}

// instance is what tells services apart: two machines may announce the same name.
type instance struct {
	name, host string
	port       int
}

type findings struct {
	mu     sync.Mutex
	byName map[instance]*discovery.Found
}

func (f *findings) browse(ctx context.Context, service string, family zeroconf.IPType, interfaces []net.Interface) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	entries, finished := make(chan *zeroconf.ServiceEntry), make(chan error, 1)
	go func() {
		finished <- zeroconf.Browse(ctx, service, "local", entries, zeroconf.SelectIPTraffic(family), zeroconf.SelectIfaces(interfaces))
	}()
	for size := 0; ; {
		select {
		case e, open := <-entries:
			if !open {
				entries = nil
				continue
			}
			f.add(e, interfaces)
			// The library remembers whatever it has delivered until the browse ends.
			if size += cost(e); size > maxBrowse {
				cancel()
			}
		case err := <-finished:
			return err
		}
	}
}

// cost is about how many bytes the library keeps of an entry.
func cost(e *zeroconf.ServiceEntry) int {
	n := 512 + len(e.HostName) + 4*len(e.Instance) + 32*(len(e.AddrIPv4)+len(e.AddrIPv6))
	for _, s := range e.Text {
		n += 16 + len(s)
	}
	return n
}

func (f *findings) add(e *zeroconf.ServiceEntry, interfaces []net.Interface) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := instance{unescape(e.Instance), strings.TrimSuffix(unescape(e.HostName), "."), e.Port}
	known := f.byName[at]
	if at.name == "" || at.port <= 0 || known == nil && len(f.byName) >= maxFound {
		return
	}
	if known == nil {
		known = &discovery.Found{Instance: at.name, HostName: at.host, Port: at.port}
	}
	known.Addresses = order(known.Addresses, slices.Concat(e.AddrIPv4, e.AddrIPv6), interfaces)
	if len(known.Addresses) == 0 {
		return
	}
	known.Text = attributes(e.Text)
	f.byName[at] = known
}

// order adds addresses to those that are known, in the order to try.
func order(known []netip.Addr, ips []net.IP, interfaces []net.Interface) []netip.Addr {
	for _, ip := range ips[:min(len(ips), 4*maxAddresses)] {
		a, ok := netip.AddrFromSlice(ip)
		if a = a.Unmap(); !ok || a.IsUnspecified() || a.IsMulticast() {
			continue
		}
		if !a.Is6() || !a.IsLinkLocalUnicast() {
			known = append(known, a)
			continue
		}
		// On which interface the answer came, the library does not tell.
		for _, i := range interfaces {
			known = append(known, a.WithZone(i.Name))
		}
	}
	slices.SortFunc(known, func(a, b netip.Addr) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return a.Compare(b)
	})
	known = slices.Compact(known)
	return known[:min(len(known), maxAddresses)]
}

func rank(a netip.Addr) int {
	switch {
	case a.IsLoopback():
		return 4
	case a.IsLinkLocalUnicast() && a.Is6():
		return 3
	case a.IsLinkLocalUnicast():
		return 2
	case a.Is6():
		return 1
	}
	return 0
}

func (f *findings) list() []discovery.Found {
	all := make([]discovery.Found, 0, len(f.byName))
	for _, found := range f.byName {
		all = append(all, *found)
	}
	slices.SortFunc(all, func(a, b discovery.Found) int {
		return strings.Compare(a.Instance+"\x00"+a.HostName, b.Instance+"\x00"+b.HostName)
	})
	return all
}
