// Package sms is the channel that sends text messages by Twilio, or by a service with the same API.
package sms
