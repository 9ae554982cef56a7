package demo

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/aas/netcompliance"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Install adds the demo plant to the options of a server. On the first start it fills the stores with history, alarms and shells. On a
// full disk, where the history that there was may have been removed, it adds none: the engine must start and show its alarms.
func Install(ctx context.Context, o *engine.Options) error {
	d, known, err := NewDriver(nil)
	if err != nil {
		return err
	}
	began := time.Now()
	samples, err := FillHistory(ctx, d, known, o.Tags.HistoryStore, began)
	if errors.Is(err, storage.ErrFull) {
		o.Server.Logger.Warn("failed to create the demo history", "error", err)
	} else if err != nil {
		return err
	}
	pumped, err := installPumps(ctx, o, began)
	if err != nil {
		return err
	}
	samples += pumped
	events, err := installAlarms(ctx, o, d, began)
	if err != nil {
		return err
	}
	if samples > 0 || events > 0 {
		o.Server.Logger.Info("demo history created", "samples", samples, "alarmEvents", events, "took", time.Since(began).Round(time.Millisecond))
	}
	if err := errors.Join(installShells(ctx, known, o), installDevices(o)); err != nil {
		return err
	}
	o.Tags.Drivers = append(o.Tags.Drivers, tagspart.Driver{ID: DriverID, Driver: d,
		Options: tags.DriverOptions{Type: simdriver.TypeName, PollInterval: 500 * time.Millisecond, Tags: known}})
	return nil
}

// installAlarms stores the plant's past alarms and advances the outbox beyond them, so that they cause no notification. If the
// process is killed in between, the next start goes on with the alarms that are there. An outbox that has advanced belongs to an engine with a history.
func installAlarms(ctx context.Context, o *engine.Options, d *simdriver.Driver, now time.Time) (last int64, err error) {
	if cursor, err := o.Alerting.Outbox.Cursor(ctx); err != nil || cursor > 0 {
		return 0, err
	}
	if last, err = FillAlarms(ctx, d, o.Alarms.Alarms, now); err != nil || last == 0 {
		return 0, err
	}
	return last, o.Alerting.Outbox.Plan(ctx, 0, last, nil)
}

// installShells imports the plant's shells, and adds the facts about its network.
func installShells(ctx context.Context, known []tags.Tag, o *engine.Options) error {
	service, err := repository.New(o.AAS.Store, o.AAS.Service)
	if err != nil {
		return err
	}
	if err := errors.Join(FillShells(ctx, service, o.AAS.TagMapping.Mapper, known), service.Close(ctx)); err != nil {
		return err
	}
	network, err := netcompliance.New(netcompliance.SourceFunc(NetworkFacts), netcompliance.Options{})
	if err != nil {
		return err
	}
	o.AAS.Service.Providers = append(o.AAS.Service.Providers, network)
	return nil
}
