package link

import (
	"io"
	"sync"
)

// Pipe returns the two ends of a link in memory, for tests. Send waits for the Recv of the other end, except that a few frames may be on their
// way. Closing the bridge's end ends both: the engine's Recv returns io.EOF. Call CloseEngine with the error of the function that serves the engine's end.
func Pipe() (BridgeConn, EngineConn) {
	p := &pipe{up: make(chan FromBridge, pipeFrames), down: make(chan FromEngine, pipeFrames), closed: make(chan struct{})}
	return (*pipeBridge)(p), (*pipeEngine)(p)
}

// pipeFrames is how many frames may be on their way in each direction, as a network has buffers.
const pipeFrames = 4

type pipe struct {
	up     chan FromBridge
	down   chan FromEngine
	once   sync.Once
	closed chan struct{}
	err    error // for the bridge, once closed
}

func (p *pipe) end(err error) {
	p.once.Do(func() {
		p.err = err
		close(p.closed)
	})
}

type pipeBridge pipe

func (p *pipeBridge) Send(f FromBridge) error {
	select {
	case <-p.closed:
		return io.EOF
	default:
	}
	select {
	case p.up <- f:
		return nil
	case <-p.closed:
		return io.EOF
	}
}

// Recv returns what was sent before the end.
func (p *pipeBridge) Recv() (FromEngine, error) {
	select {
	case f := <-p.down:
		return f, nil
	case <-p.closed:
	}
	select {
	case f := <-p.down:
		return f, nil
	default:
		return FromEngine{}, p.err
	}
}

func (p *pipeBridge) Close() error {
	(*pipe)(p).end(io.EOF)
	return nil
}

type pipeEngine pipe

func (p *pipeEngine) Send(f FromEngine) error {
	select {
	case <-p.closed:
		return io.EOF
	default:
	}
	select {
	case p.down <- f:
		return nil
	case <-p.closed:
		return io.EOF
	}
}

func (p *pipeEngine) Recv() (FromBridge, error) {
	select {
	case f := <-p.up:
		return f, nil
	case <-p.closed:
	}
	select {
	case f := <-p.up:
		return f, nil
	default:
		return FromBridge{}, io.EOF
	}
}

func (p *pipeEngine) Peer() string { return "pipe" }

// CloseEngine ends a link of Pipe from the engine's side, as a server does when the function that serves it returns. The bridge's Recv
// returns err, or io.EOF if it is nil. Other ends are left alone.
func CloseEngine(c EngineConn, err error) {
	if p, ok := c.(*pipeEngine); ok {
		if err == nil {
			err = io.EOF
		}
		(*pipe)(p).end(err)
	}
}
