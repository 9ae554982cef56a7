//go:build unix

package tagspart

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDriverOf100000Tags adds a driver of 100,000 tags beside another one, changes one tag, and removes the driver.
func BenchmarkDriverOf100000Tags(b *testing.B) {
	part, err := New(b.Context(), Options{ModelPath: filepath.Join(b.TempDir(), "model.json")})
	require.NoError(b, err)
	defer func() { require.NoError(b, part.drain(b.Context())) }()
	list := func(driver string) []tags.Tag {
		list := make([]tags.Tag, 100_000)
		for i := range list {
			list[i] = tags.Tag{Name: fmt.Sprintf("%s.Area%02d.Tag%05d", driver, i%50, i), Address: fmt.Sprint(i), DataType: tags.Float}
		}
		return list
	}
	require.NoError(b, part.AddDriver(Driver{ID: "other", Driver: &host{}, Options: tags.DriverOptions{Tags: list("other")}}))
	measure := func(metric string, work func() error) {
		start := processorTime(b)
		require.NoError(b, work())
		b.ReportMetric(float64((processorTime(b) - start).Milliseconds()), metric)
	}
	for b.Loop() {
		base := list("b1")
		measure("add-cpu-ms", func() error {
			return part.AddDriver(Driver{ID: "b1", Driver: &host{}, Options: tags.DriverOptions{Tags: base}})
		})
		time.Sleep(100 * time.Millisecond)
		base[0].Unit = "mm"
		measure("change-cpu-ms", func() error { return part.SetTags("b1", base) })
		time.Sleep(100 * time.Millisecond)
		more := list("b1")
		for i := range more {
			more[i].Name += "x"
		}
		start := processorTime(b)
		measure("replace-cpu-ms", func() error { return part.SetTags("b1", more) })
		time.Sleep(2 * time.Second)
		b.ReportMetric(float64((processorTime(b) - start).Milliseconds()), "replace-after-cpu-ms")
		measure("remove-cpu-ms", func() error { return part.RemoveDriver(b.Context(), "b1") })
	}
}
