package limit_test

import (
	"fmt"
	"time"

	"github.com/otkit/otkit/transport/limit"
)

func ExampleRate() {
	now := time.Unix(1_800_000_000, 0)
	rate := limit.NewRate(1, func() time.Time { return now })
	for range 10 { // the bucket holds ten seconds' worth
		_ = rate.Allow("192.0.2.7")
	}
	fmt.Println(rate.Allow("192.0.2.7"))
	fmt.Println(rate.Allow("192.0.2.8"))
	now = now.Add(time.Second)
	fmt.Println(rate.Allow("192.0.2.7"))
	// Output:
	// too many requests, try again later
	// <nil>
	// <nil>
}
