package bridgehost

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// textEvery is how often the announcement is compared with what it is about: tags come and go without notice.
const textEvery = 10 * time.Second

// onStatus has the announcement follow the status.
func (b *Bridge) onStatus(link.Status) {
	select {
	case b.changed <- struct{}{}:
	default: // it is to look already
	}
}

// text is what the announcement has.
func (b *Bridge) text() []string {
	s, o := b.host.Status(), &b.opts
	list := []string{"bridgeId=" + s.BridgeID, "status=" + s.Status, "name=" + o.Name, "location=" + o.Location, "configPort=" + strconv.Itoa(b.port()),
		"version=" + s.Version, "driverType=" + s.DriverType, "tenantId=" + o.TenantID, "boundEngineId=" + s.BoundEngineID,
		"tagCount=" + strconv.Itoa(b.tagCount())}
	if o.Server.TLS != nil {
		list = append(list, "tls=1")
	}
	return list
}

func (b *Bridge) tagCount() int {
	all := b.tags.Drivers()
	if i := slices.IndexFunc(all, func(d tags.DriverStatus) bool { return d.ID == b.opts.Driver.ID }); i >= 0 {
		return all[i].Tags
	}
	return 0
}

// port returns the port of the bridge, 0 if it has none of its own.
func (b *Bridge) port() int {
	if a, ok := b.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// advertise announces the bridge until ctx ends.
func (b *Bridge) advertise(ctx context.Context) {
	log := b.opts.Server.Logger
	if b.port() == 0 {
		log.Warn("the bridge is not announced: it has no port of its own")
		return
	}
	text := b.text()
	a, err := b.opts.Advertise(b.opts.ID, b.port(), text)
	if err != nil {
		log.Warn("failed to announce the bridge in the network", "error", err)
		return
	}
	defer func() {
		if err := a.Close(); err != nil {
			log.Warn("failed to end the announcement in the network", "error", err)
		}
	}()
	ticker := time.NewTicker(textEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.changed:
		case <-ticker.C:
		}
		if now := b.text(); !slices.Equal(now, text) {
			if err := a.SetText(now); err != nil {
				log.Warn("failed to change the announcement in the network", "error", err)
				continue
			}
			text = now
		}
	}
}

const (
	lookFor   = 3 * time.Second  // how long one look for engines takes
	lookEvery = 60 * time.Second // while the bridge is free
)

// lookForEngines tells the host of an engine in the network while the bridge is free.
func (b *Bridge) lookForEngines(ctx context.Context) {
	for ctx.Err() == nil {
		if b.host.Status().Status == link.StatusFree {
			url := ""
			if found := b.search(ctx); len(found) > 0 {
				url = engineURL(found[0])
			}
			if ctx.Err() == nil {
				b.host.SetFoundEngine(url)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// search returns the engines in the network, none if it cannot be searched.
func (b *Bridge) search(ctx context.Context) []discovery.Found {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	found, err := b.opts.FindEngines(ctx)
	if err != nil {
		b.opts.Server.Logger.Debug("failed to look for engines in the network", "error", err)
	}
	return found
}

// findEngine returns what finds the address of an engine by its id, nil if engines are not looked for.
func (b *Bridge) findEngine() func(ctx context.Context, engineID string) (string, error) {
	if b.opts.FindEngines == nil {
		return nil
	}
	return func(ctx context.Context, engineID string) (string, error) {
		for _, f := range b.search(ctx) {
			if f.Text["engineId"] == engineID {
				if url := engineURL(f); url != "" {
					return url, nil
				}
			}
		}
		return "", fmt.Errorf("the engine %s is not in the network", engineID)
	}
}

// engineURL returns the address of an engine that was found, empty if it has none.
func engineURL(f discovery.Found) string {
	if url := f.Text["url"]; url != "" {
		return url
	}
	scheme := "http"
	if f.Text["tls"] == "1" {
		scheme = "https"
	}
	if urls := f.URLs(scheme); len(urls) > 0 {
		return urls[0]
	}
	return ""
}
