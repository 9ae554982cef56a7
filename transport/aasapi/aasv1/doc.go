// Package aasv1 serves version 1 of the platform's own REST API of asset administration shells, submodels
// and concept descriptions. The API of the standard is package aasapi, the gRPC API package aasgrpc.
package aasv1
