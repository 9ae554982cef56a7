package busstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the clock of the database shows is estimated from when a statement began and ended. A request must never live longer than its sender waits.
func TestTheClockOfTheDatabaseIsNotOverestimated(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	us := func(d time.Duration) int64 { return (1000*time.Hour + d).Microseconds() }
	var c clock
	shows := func(want time.Duration, why string) {
		t.Helper()
		require.Equal(t, us(want), c.of(start), why)
	}
	c.told(us(0), start, at(400*time.Millisecond))
	shows(-400*time.Millisecond, "the time may be that of the end")
	c.told(us(time.Second), at(990*time.Millisecond), at(1010*time.Millisecond))
	shows(-10*time.Millisecond, "a faster statement tells more")
	c.told(us(2*time.Second), at(1900*time.Millisecond), at(2100*time.Millisecond))
	shows(-10*time.Millisecond, "a slower one tells less")
	c.told(us(time.Minute+3*time.Second), at(3*time.Second), at(3100*time.Millisecond))
	shows(time.Minute-100*time.Millisecond, "it was set forward")
	c.told(us(4*time.Second), at(4*time.Second), at(4100*time.Millisecond))
	shows(-100*time.Millisecond, "it was set back")
	c.told(us(20*time.Second), at(20*time.Second), at(20200*time.Millisecond))
	shows(-200*time.Millisecond, "what was learned long ago is not known any more")
}
