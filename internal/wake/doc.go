// Package wake wakes goroutines: one that waits for work ([Signal]), many that wait for the same change ([Broadcast]), and the reader
// of a bounded queue ([Queue]). [Subscribers] is a set of such queues, or of any other receivers, that events are published to.
//
// Whoever wakes never waits. The package exists because each of these is short, easy to get subtly wrong, and needed by every domain.
package wake
