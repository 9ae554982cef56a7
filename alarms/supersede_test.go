package alarms_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// TestWhatWasAcknowledgedEndsWhenItChanges raises acknowledged alarms again that have become graver or
// come back: the acknowledgement stays with what was acknowledged.
func TestWhatWasAcknowledgedEndsWhenItChanges(t *testing.T) {
	for name, why := range map[string]string{"severe": "severity increased", "back": "recurred"} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			s := service(t, newStore(), alarms.Options{Now: c.now})
			sub, err := s.Subscribe(alarms.SubscribeOptions{})
			require.NoError(t, err)
			defer sub.Close()
			a := pump("a")
			a.Latching = name == "back"
			first := raise(t, s, a)
			c.add(time.Minute)
			_, err = s.Acknowledge(t.Context(), alarms.ByID(strings.ToUpper(first.ID)), "anna", "seen")
			require.NoError(t, err, "an id is the same in either case")
			c.add(time.Minute)
			if name == "back" {
				_, err = s.Clear(t.Context(), alarms.ByKey("a"), "", "")
				require.NoError(t, err)
				c.add(time.Minute)
			} else {
				require.Equal(t, first.ID, raise(t, s, a).ID, "the same once more changes nothing")
				a.Severity = alarms.Critical
			}
			second := raise(t, s, a)
			require.NotEqual(t, first.ID, second.ID)
			require.Equal(t, first.Code, second.Code)
			require.Equal(t, c.now(), second.RaisedAt)
			require.False(t, second.Acknowledged())
			require.Equal(t, a.Severity, second.Severity)

			first, err = s.Occurrence(t.Context(), first.ID)
			require.NoError(t, err)
			require.False(t, first.Active)
			require.Equal(t, "anna", first.AcknowledgedBy)
			require.Equal(t, "seen", first.Comment)
			require.Equal(t, c.now(), first.ClearedAt)
			events, total, err := s.EventsOf(t.Context(), first.ID, 1, 500)
			require.NoError(t, err)
			require.Len(t, events, total)
			last := events[total-1]
			require.Equal(t, alarms.Cleared, last.Kind)
			require.Contains(t, last.Comment, why)
			events, total, err = s.EventsOf(t.Context(), second.ID, 1, 1)
			require.NoError(t, err)
			require.Equal(t, 1, total)
			require.Equal(t, alarms.Raised, events[0].Kind)

			told, err := sub.Next(t.Context(), 0)
			require.NoError(t, err)
			require.Len(t, told, 2)
			require.Equal(t, second.ID, told[1].Occurrence.ID)
			points, err := s.Trend(t.Context(), c.now().Add(-time.Hour), c.now().Add(time.Hour))
			require.NoError(t, err)
			count := 0
			for _, p := range points {
				count += p.Total
			}
			require.Equal(t, 2, count)
			active, err := s.Active(t.Context())
			require.NoError(t, err)
			require.Len(t, active, 1)
		})
	}
}

func TestEventsOfAnOccurrence(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	o := raise(t, s, pump("a"))
	_, err := s.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", "seen")
	require.NoError(t, err)
	events, total, err := s.EventsOf(t.Context(), o.ID, 2, 1)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	require.Len(t, events, 1)
	require.Equal(t, alarms.Acknowledged, events[0].Kind)
	_, _, err = s.EventsOf(t.Context(), "nothing", 1, 1)
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	_, _, err = s.EventsOf(t.Context(), o.ID, 1, 501)
	require.ErrorIs(t, err, alarms.ErrPageSizeExceeded)
}

func TestTextsAreMeasuredInCharacters(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	o := raise(t, s, pump("a"))
	_, err := s.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", strings.Repeat("度", 4097))
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	_, err = s.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", strings.Repeat("度", 4096))
	require.NoError(t, err)
}

// TestCodesAreThereBeforeAnyAlarm asks for codes of keys that were never raised.
func TestCodesAreThereBeforeAnyAlarm(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	codes, err := s.Codes(t.Context(), []string{"a", "b", "a"})
	require.NoError(t, err)
	require.Len(t, codes, 2)
	require.NotEqual(t, codes["a"], codes["b"])
	require.Equal(t, codes["a"], raise(t, s, pump("a")).Code)
	again, err := s.Codes(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, codes, again)
}
