// Package hubspart is the part of a server for the SignalR hubs that browsers listen to.
package hubspart
