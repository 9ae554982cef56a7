// Package fcm is the channel that sends push messages to mobile devices through Firebase Cloud Messaging, HTTP v1.
package fcm
