package devices

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/otkit/otkit/fault"
)

// Options are the options of [Service].
type Options struct {
	// Safety judges every command. Required.
	Safety Safety
	// Executor returns what carries out the commands of a device; nil for a device that none does, whose commands fail.
	Executor func(deviceID string) Executor
	// Timeout is how long a device may take for a command. Default 10 min.
	Timeout time.Duration
	// QueueLimit is how many commands may wait for a device. Default 32.
	QueueLimit int
	// MaxDevices is how many devices there may be. Default 10,000.
	MaxDevices int
	// OfflineAfter is how long a device may be silent before it is Offline. Default 45 s: VDA 5050 lets a vehicle that
	// stands report every 30 s.
	OfflineAfter time.Duration
	// StoreEvery is how often LastSeen, the state and the last report are stored; what a person changes and an emergency stop are
	// stored immediately. Default 10 s.
	StoreEvery time.Duration
	// Retention is how long commands that have ended remain in the journal of a [Trimmer]. The id of a command is recognized as long.
	// Default 0: for ever.
	Retention time.Duration
	// Shared is set if other engines have the same devices in the same store, which must be a [SharedStore]. The service begins without
	// them; see [Service.Run] and [Service.Follow]. Default: they are its own.
	Shared *Shared
	// OnChange, if set, is called with a device whose state has changed, in the order of the changes. It must neither block nor call
	// the service, which is locked meanwhile.
	OnChange func(Device)

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	if o.Safety == nil {
		return o, fault.Option("devices", "Options.Safety", "is required")
	}
	if o.Executor == nil {
		o.Executor = func(string) Executor { return nil }
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.QueueLimit = cmp.Or(o.QueueLimit, 32)
	o.MaxDevices = cmp.Or(o.MaxDevices, 10_000)
	o.OfflineAfter = cmp.Or(o.OfflineAfter, 45*time.Second)
	o.StoreEvery = cmp.Or(o.StoreEvery, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, f := range []struct {
		name string
		bad  bool
	}{{"Timeout", o.Timeout < 0}, {"QueueLimit", o.QueueLimit < 0}, {"MaxDevices", o.MaxDevices < 0}, {"OfflineAfter", o.OfflineAfter < 0},
		{"StoreEvery", o.StoreEvery < 0}, {"Retention", o.Retention < 0}} {
		if f.bad {
			return o, fault.Option("devices", "Options."+f.name, "must be above 0")
		}
	}
	return o, nil
}
