// Package aasgrpc serves the gRPC API of asset administration shells: AasRepositoryApi and AasRegistryApi.
package aasgrpc
