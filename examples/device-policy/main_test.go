package main

import (
	"context"
	"time"
)

func Example_day() {
	_ = run(context.Background(), func() time.Time { return time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC) })
	// Output:
	// Succeeded map[position:1.5] ""
	// Failed map[] "the conveyor cannot Dance"
}

func Example_night() {
	_ = run(context.Background(), func() time.Time { return time.Date(2026, 11, 2, 23, 0, 0, 0, time.UTC) })
	// Output:
	// Safety violation - day shift: it is 23 o'clock, the shift is from 6 to 22
	// Safety violation - day shift: it is 23 o'clock, the shift is from 6 to 22
}
