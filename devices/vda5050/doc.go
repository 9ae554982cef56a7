// Package vda5050 commands vehicles that speak VDA 5050 version 2.1 over an MQTT broker, the interface of automated guided vehicles
// of the VDA and the VDMA (https://github.com/VDA5050/VDA5050).
//
// [Connect] returns a [Fleet], which is a devices.Executor for its vehicles and reports what they publish.
//
//	MoveTo                order of two nodes and an edge
//	PickUp, Release       order of one node with the action pick or drop
//	other commands        instant action of that name
//	EmergencyStop         instant actions startPause and cancelOrder; they are no safety function
//	ResetEmergencyStop    instant action stopPause
package vda5050
