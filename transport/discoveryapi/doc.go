// Package discoveryapi serves the REST API of discovery: scanning for bridges, binding and unbinding them, and the list of bindings.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package discoveryapi
