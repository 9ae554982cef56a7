// Package signalr is the server side of the ASP.NET Core SignalR protocol, for hubs that notify clients of
// events: the stock clients (@microsoft/signalr and those of .NET and Java) connect to it, and
// python's signalrcore.
//
// A [Hub] is the handler of one path and of the path below it that ends in /negotiate. It speaks
// negotiation versions 0 and 1, WebSocket (also without negotiation), server-sent events and long
// polling, and the JSON and MessagePack hub protocols version 1; MessagePack needs a WebSocket or long
// polling, since server-sent events are text. [Hub.Broadcast] invokes a method on every connected
// client, and [Client.Send] on one. Clients invoke [Options].Methods; streams from and to clients are not offered. Arguments have the form of encoding/json in both protocols: a time is a string, for example.
// Stateful reconnect is not offered.
//
// # What clients can rely on
//
// Every client gets messages in the order of the calls of Broadcast, each at most once, from the time
// on when its start has succeeded. Nothing is repeated after a reconnect, so a client then reads the
// present state again.
//
// A message is encoded once for each protocol that is in use, and shared. Each connection has a bounded queue and one writer, and
// Broadcast and Send never wait: a client that does not keep up is cut, and comes back through its own
// automatic reconnect. Nothing is compressed, since a compressor costs a megabyte for each client.
//
// # Tokens
//
// The handlers around the hub decide who may connect; they see every request. Options.Lifetime, such as auth.Lifetime of
// package transport/auth, limits a connection: when its token ends, the client is asked to reconnect, and gets a new token from
// its accessTokenFactory. The id in the query of a connection is a secret too: this package does not log URLs.
//
// The protocol is described in the files HubProtocol.md and TransportProtocols.md of the
// documentation of ASP.NET Core SignalR.
package signalr
