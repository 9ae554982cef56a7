// Package rest serves the REST surfaces over the domain packages: it turns requests into domain calls
// and domain values into answers. The request and answer types and the routes are generated from
// openapi/openapi.yaml; who may call is decided by the guard of package transport/auth, and what an
// error looks like by package transport/problem.
package rest
