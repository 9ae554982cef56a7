// Package exchange moves shells, submodels and concept descriptions between an [repository.Service] and
// documents: AASX packages, JSON and XML.
package exchange
