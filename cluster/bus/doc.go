// Package bus carries messages among the engines of a plant: values of tags, writes that are passed on, wake-ups.
//
// A message is delivered at most once. Whoever needs more sends again what matters, as package tags/mirror does. Package natsbus carries
// messages over NATS, storage/busstore over PostgreSQL, and [Memory] within one process.
package bus
