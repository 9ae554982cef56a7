// Package aaspart is the part of a server for asset administration shells: the repository, the
// standard's API to it, and the submodels that show tags.
package aaspart
