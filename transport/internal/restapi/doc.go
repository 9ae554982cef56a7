// Package restapi is what the REST handlers of all domains have in common: answers to requests that
// cannot be read, and small helpers.
package restapi
