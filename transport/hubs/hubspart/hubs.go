package hubspart

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/hubs"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/signalr"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options configure the hubs. The zero value works.
type Options struct {
	AllowedOrigins  []string         // origins that browsers may connect from, beside the server's own
	MaxPerPrincipal int              // connections of one account to each hub; default 100
	MaxPerAddress   int              // connections of one address to each hub; default 1000
	Equipment       []Equipment      // further equipment that is announced, beside devices and shells
	Now             func() time.Time // default: time.Now
	Logger          *slog.Logger     // default: discards
}

// Hubs is the part. Make it with New.
type Hubs struct {
	opts      Options
	tags      *tagspart.Tags
	aas       *aaspart.AAS         // nil where there are no shells
	devices   *devicespart.Devices // nil where there are none
	hub       *signalr.Hub         // /hubs/alarms
	demo      *signalr.Hub         // /hubs/demo
	consoles  *signalr.Hub         // /hubs/console
	console   *hubs.Console
	dashboard *hubs.Dashboard
	alarmFeed *hubs.Demo
	equipment []func(context.Context)
}

// New makes the hubs. The shells and the devices may be nil.
func New(ctx context.Context, t *tagspart.Tags, a *alarmspart.Alarms, al *alertingpart.Alerting, shells *aaspart.AAS, d *devicespart.Devices,
	o Options) (*Hubs, error) {
	switch {
	case t == nil:
		return nil, errors.New("hubs: New: the tags are nil")
	case a == nil:
		return nil, errors.New("hubs: New: the alarms are nil")
	case al == nil:
		return nil, errors.New("hubs: New: the alerting is nil")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hubs{opts: o, tags: t, aas: shells, devices: d}
	if err := h.open(a, al); err != nil {
		return nil, errors.Join(err, h.endStreams(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func (h *Hubs) open(a *alarmspart.Alarms, al *alertingpart.Alerting) (err error) {
	o := h.opts
	options := signalr.Options{Logger: o.Logger, Lifetime: auth.Lifetime, AllowedOrigins: o.AllowedOrigins, Owner: owner,
		MaxPerPrincipal: cmp.Or(o.MaxPerPrincipal, 100), MaxPerAddress: cmp.Or(o.MaxPerAddress, 1000)}
	if h.hub, err = signalr.New(options); err != nil {
		return err
	}
	if h.demo, err = signalr.New(options); err != nil {
		return err
	}
	console := hubs.ConsoleOptions{Logger: o.Logger}
	if h.aas != nil {
		console.Submodels = h.aas.Service()
	}
	if h.console, err = hubs.NewConsole(h.tags.Engine(), a.Service(), console); err != nil {
		return err
	}
	options.Methods, options.MaxMessageBytes = h.console.Methods(), hubs.ConsoleMessageBytes
	if h.consoles, err = signalr.New(options); err != nil {
		return err
	}
	h.dashboard, err = hubs.NewDashboard(h.hub, a.Service(), al.Silences(), hubs.DashboardOptions{Now: o.Now, Logger: o.Logger, Shows: al.ShowsOnDashboard})
	if err != nil {
		return err
	}
	h.alarmFeed, err = hubs.NewDemo(h.demo, a.Service())
	return err
}

// owner returns whose a connection to a hub is.
func owner(ctx context.Context) (principal, address string) {
	if p, ok := auth.From(ctx); ok {
		principal = p.Issuer + " " + p.Subject
	}
	if from, ok := remote.From(ctx); ok {
		address = from.Host()
	}
	return principal, address
}

// Part returns what the hubs contribute to a server.
func (h *Hubs) Part() server.Part {
	return server.Part{Name: "hubs", Operations: Operations(), Routes: h.routes, Start: h.start,
		Jobs:       []func(context.Context){h.dashboard.Run, h.alarmFeed.Run, h.console.Run, h.pushIngestion, h.announceEquipment},
		EndStreams: h.endStreams}
}

func (h *Hubs) routes(r server.Router) error {
	for path, hub := range map[string]http.Handler{"/hubs/alarms": h.hub, "/hubs/demo": h.demo, "/hubs/console": h.consoles} {
		r.Get(path, hub.ServeHTTP)
		r.Post(path, hub.ServeHTTP)
		r.Delete(path, hub.ServeHTTP)
		r.Post(path+"/negotiate", hub.ServeHTTP)
	}
	return nil
}

// start looks at what is there before the server answers, so that nothing new is missed.
func (h *Hubs) start() {
	if h.devices != nil {
		a := &deviceAnnouncer{service: h.devices.Service(), hub: h.demo, known: make(map[string]bool)}
		a.look(context.Background())
		h.equipment = append(h.equipment, a.run)
	}
	for _, e := range h.opts.Equipment {
		a := &equipmentAnnouncer{source: e, hub: h.demo, known: make(map[string]bool)}
		a.look()
		h.equipment = append(h.equipment, a.run)
	}
	if h.aas == nil {
		return
	}
	a := &announcer{service: h.aas.Service(), hub: h.demo, now: h.opts.Now, log: h.opts.Logger,
		seed: maphash.MakeSeed(), sent: make(map[uint64]places), announced: h.isAnnounced}
	if sub, err := a.subscribe(); err == nil { // else the service was closed: the server is stopping
		h.equipment = append(h.equipment, func(ctx context.Context) { a.run(ctx, sub) })
	}
}

// announceEquipment sends new equipment until ctx ends.
func (h *Hubs) announceEquipment(ctx context.Context) {
	var wg sync.WaitGroup
	for _, run := range h.equipment {
		wg.Go(func() { run(ctx) })
	}
	wg.Wait()
}

// endStreams ends the connections of browsers, which HTTP would otherwise wait for.
func (h *Hubs) endStreams(ctx context.Context) error {
	var errs []error
	for _, hub := range []*signalr.Hub{h.hub, h.demo, h.consoles} {
		if hub != nil {
			errs = append(errs, hub.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
