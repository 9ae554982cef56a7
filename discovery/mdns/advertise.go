package mdns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/zeroconf/v2"
)

const (
	// ttl is how many seconds others remember a service that ended without a goodbye.
	ttl = 120

	// changeInterval is the least time between two announcements of changes; those in between become one.
	changeInterval = 200 * time.Millisecond

	// announceTimeout is how long an announcement may take.
	announceTimeout = 500 * time.Millisecond
)

// Service is what an [Advertisement] announces.
type Service struct {
	// Instance is the name of the instance, which must be unique in the network, such as an id. It is cut to 63 bytes.
	Instance string
	Type     string   // such as _http._tcp
	Port     int      // 1 to 65535
	Text     []string // attributes, key=value; each is cut to 255 bytes

	// Addresses are announced on all interfaces. Empty: on each interface its own, as they are when somebody asks.
	Addresses []netip.Addr
	// HostName is the name of the addresses, which must be unique in the network. Empty: made of the machine's name.
	HostName string
}

// Options are options of [Advertise]. The zero value is ready to use.
type Options struct {
	Interfaces    []string      // names of the network interfaces to use; none are all
	CheckInterval time.Duration // how often it looks for new interfaces and addresses; default 5 s
	Logger        *slog.Logger  // default: no logs
}

// Advertisement announces a service until it is closed. It may be used concurrently.
type Advertisement struct {
	service Service
	o       Options
	name    string // Service.Instance as a label

	changed chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}

	mu   sync.Mutex
	text []string
}

// Advertise announces a service. It does not fail without a network: if no interface takes part in multicast, it logs one
// warning and announces the service as soon as one does.
func Advertise(s Service, o Options) (*Advertisement, error) {
	name, err := label(s.Instance)
	if err != nil {
		return nil, err
	}
	if err := validateType(s.Type); err != nil {
		return nil, err
	}
	if s.Port < 1 || s.Port > 65535 {
		return nil, fmt.Errorf("mdns: port %d, 1 to 65535 are allowed", s.Port)
	}
	text, err := escapeText(s.Text)
	if err != nil {
		return nil, err
	}
	s.HostName = strings.TrimSuffix(strings.Trim(cmp.Or(s.HostName, hostName(s.Instance, s.Port)), "."), ".local") + ".local."
	s.Addresses = slices.Clone(s.Addresses)
	o.CheckInterval = cmp.Or(o.CheckInterval, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &Advertisement{service: s, o: o, name: name, text: text, cancel: cancel, changed: make(chan struct{}, 1), done: make(chan struct{})}
	go a.run(ctx)
	return a, nil
}

// SetText changes the attributes. The network knows within a second.
func (a *Advertisement) SetText(text []string) error {
	escaped, err := escapeText(text)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.text, escaped) {
		a.text = escaped
		select {
		case a.changed <- struct{}{}:
		default: // run is to look already
		}
	}
	return nil
}

// Close takes the service back and ends the advertisement. It may be called again.
func (a *Advertisement) Close() error {
	a.cancel()
	<-a.done
	return nil
}

// responder is what answers for one text on certain interfaces. The library's own change of the text races with its
// answers, and it never joins an interface that comes later: a change of either needs a new one.
type responder struct {
	server     *zeroconf.Server
	interfaces string
	text       []string
}

func (a *Advertisement) run(ctx context.Context) {
	defer close(a.done)
	var r responder
	defer func() { r.close() }()
	check := time.NewTicker(a.o.CheckInterval)
	defer check.Stop()
	for warned := false; ; {
		err := a.refresh(ctx, &r)
		if err != nil && !warned {
			a.o.Logger.Warn("mDNS advertisement failed; retrying", "service", a.service.Type, "instance", a.service.Instance, "error", err)
		} else if err == nil && warned {
			a.o.Logger.Info("mDNS advertisement resumed", "service", a.service.Type, "instance", a.service.Instance)
		}
		warned = err != nil
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		case <-a.changed:
		}
	}
}

// refresh replaces the responder if it is not right any more.
func (a *Advertisement) refresh(ctx context.Context, r *responder) error {
	interfaces, err := multicast(a.o.Interfaces)
	if err != nil {
		r.close()
		return err
	}
	a.mu.Lock()
	text := a.text
	a.mu.Unlock()
	if now := fingerprint(interfaces); r.server == nil || now != r.interfaces || !slices.Equal(text, r.text) {
		// The goodbye of the old responder is taken back by the announcement below, within the second that RFC 6762,
		// section 10.1, gives for that.
		r.close()
		server, err := a.register(text, interfaces)
		if err != nil {
			return err
		}
		*r = responder{server, now, text}
		a.announce(ctx, interfaces)
		pause(ctx, changeInterval)
	}
	return nil
}

func (r *responder) close() {
	if r.server != nil {
		r.server.Shutdown()
		r.server = nil
	}
}

func (a *Advertisement) register(text []string, interfaces []net.Interface) (*zeroconf.Server, error) {
	var ips []string
	for _, ip := range a.service.Addresses {
		ips = append(ips, ip.WithZone("").String())
	}
	// With no addresses the library answers with those of the interface on which it was asked, and a goodbye has none
	// of them. On Windows it does not know that interface.
	if runtime.GOOS == "windows" && len(ips) == 0 {
		for _, i := range interfaces {
			ips = append(ips, addresses(i)...)
		}
	}
	s := a.service
	return zeroconf.RegisterProxy(a.name, s.Type, "local", s.Port, s.HostName, ips, text, interfaces, zeroconf.TTL(ttl))
}

// announce tells the network immediately: the responder itself waits for a second, then announces twice. Its answer to a
// question is an announcement, so we ask.
func (a *Advertisement) announce(ctx context.Context, interfaces []net.Interface) {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, family := range []zeroconf.IPType{zeroconf.IPv4, zeroconf.IPv6} {
		wg.Go(func() {
			entries, finished := make(chan *zeroconf.ServiceEntry), make(chan struct{})
			go func() {
				defer close(finished)
				// A failure means that there is no IPv4 or no IPv6 here.
				_ = zeroconf.Lookup(ctx, a.name, a.service.Type, "local", entries, zeroconf.SelectIPTraffic(family), zeroconf.SelectIfaces(interfaces))
			}()
			for {
				select {
				case _, open := <-entries:
					if !open {
						entries = nil
					}
				case <-finished:
					return
				}
			}
		})
	}
	wg.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
