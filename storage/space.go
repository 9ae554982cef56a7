package storage

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Space is the disk of an embedded database. While little space is free, the oldest history is removed; when none is
// free, a reserve is released: the first half for all writes but history, the second half for vital writes only, see
// [Set.UpdateVital]. The zero Space watches nothing.
type Space struct {
	Free        func() (free, total int64, err error) // bytes of the file system
	ReserveFile string                                // path of the first half; the second half has this name and "-vital"
}

// Evictor is a store whose oldest rows are removed while the disk has little space.
type Evictor interface {
	// Evict removes the oldest rows until they have freed so many bytes, and returns the bytes that were freed. If
	// all rows that there are would not help, Evict removes nothing and returns 0.
	Evict(ctx context.Context, bytes int64) (freed int64, err error)
}

// The defaults of Options.MinFree and Options.Reserve: shares of the disk, and at most so many bytes.
const (
	minFreeShare, maxMinFree = 20, 1 << 30
	reserveShare, maxReserve = 50, 64 << 20
)

const spaceInterval = 2 * time.Second

// keeper watches the free space of the disk.
type keeper struct {
	space            Space
	minFree, reserve int64 // as in Options
	log              *slog.Logger
	evictor          atomic.Pointer[Evictor]
	wake             chan struct{}

	parts    reserve
	paused   atomic.Bool // the evictor has nothing left to remove
	text     atomic.Value
	low      bool // as of the last check; used by the goroutine that checks, like the next two
	loggedAt time.Time
	unlogged int64 // bytes removed since loggedAt
	stop     context.CancelFunc
	ended    chan struct{}
}

func newKeeper(opts Options) *keeper {
	k := &keeper{space: opts.Space, minFree: opts.MinFree, reserve: opts.Reserve, log: opts.Logger,
		wake: make(chan struct{}, 1), ended: make(chan struct{})}
	k.parts.files = reserveFiles(opts.Space.ReserveFile)
	if opts.NoMaintenance {
		k.space.Free = nil
	}
	return k
}

func (k *keeper) setEvictor(e Evictor) {
	k.evictor.Store(&e)
	k.awaken()
}

// awaken makes the next check immediate.
func (k *keeper) awaken() {
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (k *keeper) start() {
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	if k.space.Free == nil {
		close(k.ended)
		return
	}
	go k.run(ctx)
}

func (k *keeper) close() {
	k.stop()
	<-k.ended
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.ended)
	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	for {
		k.check(ctx)
		k.text.Store(k.describe())
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-tick.C:
		}
	}
}

// limits returns the bytes below which history is removed, and those of the reserve.
func (k *keeper) limits(total int64) (minFree, reserve int64) {
	minFree, reserve = k.minFree, k.reserve
	if minFree == 0 {
		minFree = min(total/minFreeShare, maxMinFree)
	}
	minFree, reserve = max(minFree, 0), reserveSize(reserve, total)
	if minFree > 0 {
		minFree = max(minFree, reserve/2) // with less, the reserve would soon be released again
	}
	return minFree, reserve
}

// wanted returns how many bytes the history leaves free.
func (k *keeper) wanted(total int64) int64 {
	minFree, reserve := k.limits(total)
	if minFree > 0 {
		minFree += k.parts.missing(reserve) // the history leaves this space alone until the reserve exists again
	}
	return minFree
}

// holds reports whether the evictor must store nothing: it is paused, or the reserve is in use. Space that was freed since
// the last check ends the pause immediately, so that a server that stops meanwhile loses no sample.
func (k *keeper) holds() bool {
	if !k.paused.Load() && !k.parts.inUse.Load() {
		return false
	}
	free, total, err := k.space.Free()
	_, reserve := k.limits(total)
	return err != nil || free < max(k.wanted(total), k.parts.missing(reserve))
}

// check compares the free space with the limits and acts.
func (k *keeper) check(ctx context.Context) {
	free, total, err := k.space.Free()
	if err != nil {
		if !k.low {
			k.log.Warn("failed to read the free disk space", "error", err)
		}
		k.low = true
		return
	}
	minFree, reserve := k.limits(total)
	switch {
	case reserve == 0:
	case free < reserve/4 && k.parts.size(ordinary) > 0:
		k.release(ordinary, time.Now())
	default:
		free = k.fill(free, minFree, reserve)
		_ = k.admit(ordinary) // writes are admitted again when there is space
	}
	wanted := k.wanted(total)
	if free >= wanted {
		if k.low {
			k.log.Info("disk space is sufficient again", "free", free)
		}
		k.low = false
		k.paused.Store(false)
		return
	}
	evictor := k.evictor.Load()
	if evictor == nil {
		k.low = true
		return
	}
	if !k.low {
		k.log.Warn("disk space low; removing the oldest history", "free", free, "wanted", wanted)
	}
	k.low = true
	freed, err := (*evictor).Evict(ctx, wanted-free+minFree/4)
	if err != nil && ctx.Err() == nil {
		k.log.Error("failed to remove history for disk space", "error", err)
	}
	if freed > 0 {
		k.paused.Store(false)
		k.removed(freed)
	} else if !k.paused.Swap(true) {
		k.log.Error("history is paused: disk space low and too little history to remove", "free", free, "wanted", wanted)
	}
}

// removedLogInterval is the shortest time between two log records about history that was removed.
const removedLogInterval = time.Minute

func (k *keeper) removed(bytes int64) {
	k.unlogged += bytes
	if time.Since(k.loggedAt) >= removedLogInterval {
		k.log.Warn("oldest history removed for disk space", "bytes", k.unlogged)
		k.unlogged, k.loggedAt = 0, time.Now()
	}
}

// state returns what the last check found: a shortage, or nothing.
func (k *keeper) state() string {
	text, _ := k.text.Load().(string)
	return text
}

func (k *keeper) describe() string {
	if !k.low {
		return ""
	}
	text := "disk space low"
	switch {
	case k.paused.Load():
		text += ": the history is paused"
	case k.evictor.Load() != nil:
		text += ": the oldest history is removed"
	}
	if k.parts.inUse.Load() {
		text += "; the reserve of accounts, alarms and configuration is in use"
	}
	if k.parts.spent.Load() {
		text += "; only sessions, alarms and acknowledgements are stored"
	}
	return text
}
