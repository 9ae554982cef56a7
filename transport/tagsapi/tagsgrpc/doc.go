// Package tagsgrpc serves the half of PlatformApi that is about tags. Package platformgrpc puts both halves
// together.
package tagsgrpc
