package features

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkDay gives a life a day of 300 signals sampled every ten seconds, and asks for a row each hour. Memory is that of the
// life, whatever the number of samples.
func BenchmarkDay(b *testing.B) {
	const signals, samples = 300, 24 * 360
	var list []Signal
	for i := range signals {
		list = append(list, Signal{Name: fmt.Sprint("tag", i)})
	}
	f, err := NewFitter(list, Options{})
	require.NoError(b, err)
	for i := range 50 * signals {
		f.Add(i%signals, hour(float64(i/signals)), float64(i))
	}
	x, err := f.Fit(b.Context())
	require.NoError(b, err)
	row := make([]float64, len(x.Names()))
	b.ReportAllocs()
	for b.Loop() {
		l := x.Begin(day)
		for i := range samples {
			at := day.Add(time.Duration(i) * 10 * time.Second)
			for signal := range signals {
				l.Add(signal, at, float64(i%17))
			}
			if i%360 == 0 {
				require.NoError(b, l.Row(at, row))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*signals*samples), "ns/sample")
}

// BenchmarkRow computes the features of 15 signals, of windows that are full.
func BenchmarkRow(b *testing.B) {
	var list []Signal
	for i := range 15 {
		list = append(list, Signal{Name: fmt.Sprint("tag", i)})
	}
	f, err := NewFitter(list, Options{})
	require.NoError(b, err)
	for i := range 50 * 15 {
		f.Add(i%15, hour(float64(i/15)), float64(i))
	}
	x, err := f.Fit(b.Context())
	require.NoError(b, err)
	l, row := x.Begin(day), make([]float64, len(x.Names()))
	for i := range 50 * 15 {
		l.Add(i%15, hour(float64(i/15)), float64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Row(hour(50), row); err != nil {
			b.Fatal(err)
		}
	}
}
