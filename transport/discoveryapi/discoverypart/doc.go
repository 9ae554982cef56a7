// Package discoverypart is the part of a server for bridges: it finds them, binds them and takes what they deliver.
package discoverypart
