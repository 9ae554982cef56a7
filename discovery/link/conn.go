package link

// BridgeConn is a bridge's end of a link. Send may be called from several goroutines, Recv from one. Send blocks while the engine does not
// read. Recv returns io.EOF if the engine ended the link without an error, and ErrRefused if it refused the bridge. Close ends the link and
// calls in progress; it may be called again.
type BridgeConn interface {
	Send(FromBridge) error
	Recv() (FromEngine, error)
	Close() error
}

// EngineConn is an engine's end of a link. Send may be called from several goroutines, Recv from one. Send blocks while the bridge does not
// read. Recv returns io.EOF if the bridge ended the link. The function that serves an EngineConn ends the link when it returns, with its error.
type EngineConn interface {
	Send(FromEngine) error
	Recv() (FromBridge, error)
	Peer() string // the bridge's network address, for logs
}
