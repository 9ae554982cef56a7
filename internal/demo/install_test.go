package demo_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags/history"
)

// refusing is a history that stores nothing.
type refusing struct {
	history.Store
	err error
}

func (r refusing) Append(context.Context, []history.Sample) error { return r.err }

func TestAFullDiskDoesNotEndTheStart(t *testing.T) {
	install := func(err error) error {
		mapper, failed := tagmap.NewMapper(tagmap.Options{})
		require.NoError(t, failed)
		var o engine.Options
		o.Server.Logger = slog.New(slog.DiscardHandler)
		o.Tags.HistoryStore = refusing{history.NewMemory(), err}
		o.Alerting.Outbox, o.Alarms.Alarms = outbox.NewMemory(), alarms.NewMemory()
		o.AAS.Store, o.AAS.TagMapping.Mapper = repository.NewMemory(), mapper
		err = demo.Install(t.Context(), &o)
		if err == nil {
			require.Len(t, o.Tags.Drivers, 7, "the line and the pumps")
		}
		return err
	}
	require.NoError(t, install(storage.ErrFull.Because("the history is paused")))
	broken := errors.New("broken")
	require.ErrorIs(t, install(broken), broken)
}
