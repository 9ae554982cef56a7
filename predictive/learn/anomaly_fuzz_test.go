package learn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// addSnapshot adds data without its checksum, and damaged forms of it.
func addSnapshot(f *testing.F, data []byte) {
	f.Add(data[:len(data)-4])
	f.Add(data[:len(data)/2])
	f.Add(data[:6])
	f.Add([]byte{})
}

func FuzzRestoreDetector(f *testing.F) {
	d := newTestDetector(f, learn.DetectorOptions{Window: 200, Season: dailySeason(f)})
	for i, x := range noise(1, 230) {
		if i == 10 || i == 229 {
			addSnapshot(f, d.Snapshot())
		}
		d.Update(at(i), x)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := learn.RestoreDetector(data)
		if err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
		}
		d, err := learn.RestoreDetector(sealed(data))
		if err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		again, err := learn.RestoreDetector(d.Snapshot())
		require.NoError(t, err)
		require.Equal(t, d.Snapshot(), again.Snapshot())
		for i := range 300 {
			d.Update(at(i), float64(i%7))
		}
	})
}

func FuzzUnmarshalPCA(f *testing.F) {
	p := fitPCA(f, plant(1, 60), learn.PCAOptions{})
	data, err := p.MarshalBinary()
	require.NoError(f, err)
	addSnapshot(f, data)
	state := p.Monitor().Snapshot()
	f.Fuzz(func(t *testing.T, data []byte) {
		var p learn.PCA
		if err := p.UnmarshalBinary(sealed(data)); err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			require.Zero(t, p.Columns())
			return
		}
		m := p.Monitor()
		for range 3 {
			_, err := m.Update(make([]float64, p.Columns()))
			require.NoError(t, err)
		}
		m.Contributions(nil)
		if _, err := p.RestoreMonitor(state); err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
		}
	})
}

func FuzzRestoreMonitor(f *testing.F) {
	p := fitPCA(f, plant(1, 60), learn.PCAOptions{})
	addSnapshot(f, p.Monitor().Snapshot())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := p.RestoreMonitor(sealed(data))
		if err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		_, err = m.Update(make([]float64, 6))
		require.NoError(t, err)
	})
}

func FuzzUnmarshalSeason(f *testing.F) {
	data, err := dailySeason(f).MarshalBinary()
	require.NoError(f, err)
	addSnapshot(f, data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var s learn.Season
		if err := s.UnmarshalBinary(sealed(data)); err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		s.At(at(5))
		again, err := s.MarshalBinary()
		require.NoError(t, err)
		var same learn.Season
		require.NoError(t, same.UnmarshalBinary(again))
		require.Equal(t, s, same)
	})
}

func FuzzUnmarshalHistogram(f *testing.F) {
	h, err := learn.NewHistogram(noise(1, 100), 0)
	require.NoError(f, err)
	data, err := h.MarshalBinary()
	require.NoError(f, err)
	addSnapshot(f, data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var h learn.Histogram
		if err := h.UnmarshalBinary(sealed(data)); err != nil {
			require.ErrorIs(t, err, learn.ErrModel)
			return
		}
		_, err := h.Compare([]float64{1, 20})
		require.NoError(t, err)
	})
}
