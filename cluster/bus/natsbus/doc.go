// Package natsbus carries the messages of engines over NATS: [Bus] is a bus.Bus.
//
// [Connect] uses servers that are there. Package embedded starts one in the process of the engine instead, which joins those of the other engines.
//
// A message costs what NATS takes: it is not stored, and whoever is not connected misses it. Of the account of the engine only the subjects below
// Options.Prefix are used; see that option for the permissions that it needs. A server must take messages of bus.MaxMessage bytes, as it does by default.
package natsbus
