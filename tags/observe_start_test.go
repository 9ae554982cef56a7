package tags_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// counting is a device whose values are one more at each reading.
type counting struct {
	values map[string]int64
	read   chan struct{} // a reading is about to be taken over
}

func (*counting) Connect(context.Context) error                          { return nil }
func (*counting) Write(context.Context, []tags.WriteItem, []error) error { return nil }
func (*counting) Close() error                                           { return nil }

func (d *counting) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	for i, p := range points {
		d.values[p.Address]++
		out[i] = tags.Reading{Value: tags.IntValue(d.values[p.Address]), Quality: tags.Good}
	}
	select {
	case d.read <- struct{}{}:
	default:
	}
	return nil
}

// An observer that begins and then reads, as a bridge does when it is bound, knows each value from that one on.
func TestObserveThenReadMissesNoChange(t *testing.T) {
	const last = "plc.999"
	list := make([]tags.Tag, 1000)
	for i := range list {
		list[i] = intTag(fmt.Sprintf("plc.%d", i), every(time.Millisecond))
	}
	e := newEngine(t, tags.Options{})
	d := &counting{map[string]int64{}, make(chan struct{})}
	require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: list}))
	require.Eventually(t, func() bool { return sampleOf(t, e, last).Quality == tags.Good }, time.Minute, time.Millisecond)
	for range 200 {
		<-d.read
		told := make(chan int64, 1) // the first value
		cancel := e.Observe(func(changes []tags.Change) {
			for i := range changes {
				if changes[i].Tag.Name == last {
					select {
					case told <- changes[i].Value.Int():
					default:
					}
				}
			}
		})
		read := sampleOf(t, e, last).Value.Int()
		first := <-told
		cancel()
		require.LessOrEqual(t, first, read+1)
	}
}
