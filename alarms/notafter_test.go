package alarms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func TestNormalThatIsLate(t *testing.T) {
	for _, c := range []struct {
		name     string
		notAfter time.Duration // from when it was raised
		passed   time.Duration // by the clock since
		changed  alarms.EventKind
	}{
		{"of an earlier one", -time.Second, time.Hour, ""},
		{"of the one that is active", 0, time.Hour, alarms.Cleared},
		{"of a clock that differs a little", -time.Second, -alarms.MaxClockSkew, ""},
		{"of a clock that was set back", -time.Second, -time.Hour, alarms.Cleared},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := newClock().now()
			raised := now
			s := service(t, newStore(), alarms.Options{Now: func() time.Time { return now }})
			raise(t, s, pump("a"))
			now = raised.Add(c.passed)
			results, err := s.Apply(t.Context(), []alarms.Signal{{Key: "a", NotAfter: raised.Add(c.notAfter)}})
			require.NoError(t, err)
			require.Equal(t, c.changed, results[0].Changed)
			require.Equal(t, c.changed == "", results[0].Occurrence.Active)
		})
	}
}
