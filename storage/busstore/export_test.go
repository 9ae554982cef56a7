package busstore

import "time"

// Shorten returns options with another retention of messages.
func (o Options) Shorten(retention time.Duration) Options {
	o.retention, o.trimDelay = retention, retention/6
	return o
}
