// Package post is how channels speak HTTP: one request with a bound on time and size, no redirects,
// and errors that are classified and hold no secrets.
package post
