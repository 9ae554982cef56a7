// Package natstest provides tests with a real nats-server, which is a process of its own, and with certificates.
package natstest
