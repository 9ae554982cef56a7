// Package cluster shares the work of a plant, such as the polling of drivers, among engines that have one database: each piece of
// work is done by one engine at a time, which holds its lease.
//
// An engine is a [Member]. It renews its session in a [Store] every second; its leases hang on the session and cost nothing more,
// however many there are. An engine that does not renew for the TTL, 3 s by default, stops its work by itself, and the others end its
// session and share its leases among them.
//
// No clock is compared with another: a member measures the TTL of the others by its own monotonic clock, from when it saw the last
// renewal, and its own from before it asked for it, which is earlier. A clock that is set does not matter. An engine whose machine was
// suspended may believe for a moment that it still holds a lease; the epoch of a lease, which rises with every holder, tells who is
// late.
//
// An engine that has never seen another one keeps its leases while the store is away, so that a plant with one engine loses nothing
// by it. If another engine is started during that time, which the first cannot see, both work until the store is back for the first, too.
//
// The way of taking over follows the leader election of Kubernetes (client-go), with sessions in the place of single leases as in
// Burrows, "The Chubby lock service for loosely-coupled distributed systems", OSDI 2006.
package cluster
