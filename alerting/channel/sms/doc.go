// Package sms is the channel that sends text messages through Twilio, or a service with the same API.
package sms
