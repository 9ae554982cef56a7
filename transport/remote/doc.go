// Package remote finds out where a call comes from: the address of the caller, behind proxies too.
//
// [Proxies] are the proxies whose word about addresses counts. [Proxies.HTTP] and [Proxies.GRPC] resolve the caller of
// a call, and [From] returns it. Rate limits, limits of streams, logs and the check of who may call without a token
// all use the address found here.
package remote
