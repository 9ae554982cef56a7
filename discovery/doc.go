// Package discovery finds bridges on the network, binds them to the engine, and watches the bound ones. A [Service] keeps bindings in a
// [Store], calls bridges through [Bridges] and shows their tags through an [Attacher].
//
// A bridge is bound with one call. It then opens its link to the engine (see package discovery/link), which delivers its samples. While
// the link of a bound bridge is not open, the service asks the bridge for its status at an interval, the heartbeat. After three missed
// heartbeats the bridge is offline, and the service looks for it by its id: its address may have changed.
package discovery
