package alerting_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// horn is a channel: it implements Name and Send.
type horn struct{ on bool }

func (*horn) Name() string { return "horn" }

// Send returns what is known about the message, which decides whether it is sent again.
func (h *horn) Send(_ context.Context, n alerting.Notification) error {
	switch {
	case n.Recipient != "":
		return alerting.Permanent(errors.New("a horn has no recipients")) // a dead letter
	case !h.on:
		return alerting.Retryable(errors.New("no power"), 0)
	}
	fmt.Println(n.Title)
	return nil
}

// A channel of your own sends the alarms that the routes have it for. A dispatcher calls Send.
func Example() {
	h := new(horn)
	routes := alerting.DefaultRoutes()
	routes[alarms.Critical] = append(routes[alarms.Critical], h.Name())

	n := alerting.Notification{Severity: alarms.Critical, Title: "[Critical] P-101: hot"}
	err := h.Send(context.Background(), n)
	var failed *alerting.SendError
	fmt.Println(errors.As(err, &failed) && failed.Outcome == alerting.OutcomeRetryable, err)
	h.on = true
	fmt.Println(h.Send(context.Background(), n))
	// Output:
	// true no power
	// [Critical] P-101: hot
	// <nil>
}
