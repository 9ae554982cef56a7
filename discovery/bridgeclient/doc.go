// Package bridgeclient calls bridges over HTTP: their status, and binding and releasing them.
package bridgeclient
