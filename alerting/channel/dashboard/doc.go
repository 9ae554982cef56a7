// Package dashboard is the channel that pushes alarms to the browsers that are connected to the hub.
package dashboard
