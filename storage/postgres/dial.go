package postgres

import (
	"net"
	"time"
)

// silence is how long a server may leave what was sent to it unanswered by its network, before the
// connection counts as broken. A server that loses its power, or its cable, closes no connection.
const silence = 20 * time.Second

// dialer opens connections that notice within silence that their peer is gone, whether they are waiting
// for it or have just sent something.
func dialer() *net.Dialer {
	return &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 3 * time.Second, Count: 3},
		Control:         limitSilence,
	}
}
