package outbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
)

func Example() {
	ctx, now := context.Background(), time.Now()
	store := outbox.NewMemory()
	one := outbox.Delivery{ID: "1", EventID: "1", Channel: "email", State: outbox.Pending, NextAttempt: now, ExpiresAt: now.Add(time.Hour)}
	if err := store.Plan(ctx, 0, 1, []outbox.Delivery{one}); err != nil {
		fmt.Println(err)
		return
	}
	claimed, err := store.Claim(ctx, outbox.Claim{Channel: "email", Owner: "me", Now: now, LeaseUntil: now.Add(time.Minute), Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(claimed), claimed[0].State)
	// Output: 1 sending
}
