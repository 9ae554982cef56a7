package hubs

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// holed is a journal without the third of five events.
type holed struct{ ConsoleJournal }

func (holed) End(context.Context) (int64, error) { return 5, nil }

func (holed) Events(_ context.Context, after int64, limit int) (list []alarms.Event, err error) {
	for _, seq := range []int64{1, 2, 4, 5} {
		if seq > after && len(list) < limit {
			list = append(list, alarms.Event{Seq: seq, ID: "event"})
		}
	}
	return list, nil
}

// A client that was dismissed at a hole of the journal must be told to read anew, not be dismissed there for ever.
func TestAPositionBeforeAHoleIsGone(t *testing.T) {
	f := newAlarmFeed(holed{}, slog.New(slog.DiscardHandler))
	for seq, gone := range map[int64]bool{0: false, 1: false, 2: true, 3: false, 4: false, 5: false, 6: true} {
		err := f.check(t.Context(), position{seq: seq}, position{})
		require.Equal(t, gone, err != nil, "%d: %v", seq, err)
	}
}
