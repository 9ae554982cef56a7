package bustest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
)

// TestBus runs the suite. newBuses returns the buses of two engines that are connected, or about to be; it is called for each test, which closes them.
func TestBus(t *testing.T, newBuses func(t *testing.T) (a, b bus.Bus)) {
	for _, test := range []struct {
		name string
		run  func(rig)
	}{
		{"messages arrive in order", testOrder},
		{"several publish and subscribe", testSeveral},
		{"a slow handler loses messages", testLost},
		{"own messages are not delivered", testOwn},
		{"subjects are kept apart", testSubjects},
		{"invalid subjects", testInvalid},
		{"data is not kept", testNotKept},
		{"cancel of a subscription", testCancel},
		{"requests", testRequests},
		{"concurrent requests", testConcurrent},
		{"too many requests", testTooMany},
		{"cancel of a server", testCancelServer},
		{"no answer", testNoAnswer},
		{"too large", testTooLarge},
		{"status", testStatus},
		{"close", testClose},
		{"close waits", testCloseWaits},
		{"everything at the same time", testEverything},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := newBuses(t)
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				require.NoError(t, a.Close(ctx))
				require.NoError(t, b.Close(ctx))
			})
			test.run(rig{t, a, b})
		})
	}
}
