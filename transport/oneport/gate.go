package oneport

import (
	"net"
	"sync"
)

// gate counts open connections, in all and by address. Ports may share one.
type gate struct {
	most, perAddress int // perAddress 0 is no limit
	unlimited        func(net.Addr) bool

	mu    sync.Mutex
	total int
	hosts map[string]int // none with 0
	freed chan struct{}  // closed, and made again, when a place becomes free
}

func newGate(o Options) *gate {
	return &gate{most: o.MaxConns, perAddress: o.MaxConnsPerAddress, unlimited: o.Unlimited, hosts: make(map[string]int), freed: make(chan struct{})}
}

// take takes a place for a connection of the host, and returns what is closed when there may be one if there is none now.
func (g *gate) take(addr net.Addr, host string) (ok bool, freed <-chan struct{}) {
	limited := g.perAddress > 0 && (g.unlimited == nil || !g.unlimited(addr))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total >= g.most || limited && g.hosts[host] >= g.perAddress {
		return false, g.freed
	}
	g.total++
	g.hosts[host]++
	return true, nil
}

func (g *gate) leave(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.hosts[host]--; g.hosts[host] == 0 {
		delete(g.hosts, host)
	}
	close(g.freed)
	g.freed = make(chan struct{})
}

func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

// counted is a connection that frees its place among the open ones when it is closed.
type counted struct {
	net.Conn
	gate *gate
	host string
	once sync.Once
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.gate.leave(c.host) })
	return err
}
