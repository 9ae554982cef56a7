// Package devicespart is the part of a server for devices: the service that commands them, and the fleets that they belong to.
package devicespart
