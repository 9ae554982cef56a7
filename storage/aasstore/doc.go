// Package aasstore keeps asset administration shells, submodels and their files in a database.
package aasstore
