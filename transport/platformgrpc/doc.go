// Package platformgrpc registers the gRPC service PlatformApi, whose calls belong to two domains: tags and alarms.
// Who has only one of them uses tagsgrpc.Service.Register or alarmsgrpc.Service.Register.
package platformgrpc
