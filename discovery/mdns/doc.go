// Package mdns announces services on the local network and finds them, by multicast DNS (RFC 6762) and DNS-SD (RFC 6763).
//
// What arrives is not authenticated: anybody on the network can announce a service, or one under another's name.
package mdns
