// Package fcm is the channel that pushes to mobile devices by Firebase Cloud Messaging, HTTP v1.
package fcm
