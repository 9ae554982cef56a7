// Package post sends the HTTP requests of channels: each with a limit of time and size, without redirects, and with errors that
// are classified and contain no secrets.
package post
