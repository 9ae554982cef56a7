// Package embedded starts a NATS server in the process of an engine and joins those of the other engines, so that a plant of several engines needs no NATS of
// its own.
//
// The servers listen for one another only: the engine is connected in its process, and there is no port for other clients. It suffices to name one other
// engine in Options.Routes; servers tell each other of the rest. Options.Password or Options.TLS keeps others out, who could otherwise write to the devices of the
// plant.
//
// A program that imports this package grows by the whole server, some 12 MB. Package natsbus alone has none of it.
package embedded
