package storage

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Space is the disk of an embedded database. While little space is free, the oldest history is removed; when none is
// free, a reserve is released for accounts, alarms and configuration. The zero Space watches nothing.
type Space struct {
	Free        func() (free, total int64, err error) // bytes of the file system
	ReserveFile string                                // path of the reserve
}

// Evictor is a store whose oldest rows are removed while the disk has little space.
type Evictor interface {
	// Evict removes the oldest rows until they have freed so many bytes, and returns the bytes that were freed. If
	// all rows that there are would not help, Evict removes nothing and returns 0.
	Evict(ctx context.Context, bytes int64) (freed int64, err error)
}

// Relieve releases the reserve if the disk is too full to open a database.
func (s Space) Relieve() error {
	if s.Free == nil || s.ReserveFile == "" {
		return nil
	}
	info, err := os.Stat(s.ReserveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if free, _, err := s.Free(); err != nil || free >= info.Size() {
		return err
	}
	return os.Remove(s.ReserveFile)
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

	paused   atomic.Bool // the evictor has nothing left to remove
	text     atomic.Value
	low      bool // as of the last check, as what follows of the goroutine that checks
	loggedAt time.Time
	unlogged int64      // bytes removed since
	mu       sync.Mutex // of the reserve
	released time.Time  // when the reserve was
	stop     context.CancelFunc
	ended    chan struct{}
}

func newKeeper(opts Options) *keeper {
	k := &keeper{space: opts.Space, minFree: opts.MinFree, reserve: opts.Reserve, log: opts.Logger,
		wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if opts.NoMaintenance {
		k.space.Free = nil
	}
	return k
}

func (k *keeper) setEvictor(e Evictor) {
	k.evictor.Store(&e)
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
	if reserve == 0 {
		reserve = min(total/reserveShare, maxReserve)
	}
	minFree, reserve = max(minFree, 0), max(reserve, 0)
	if minFree > 0 {
		minFree = max(minFree, reserve/2) // with less, the reserve would soon be released again
	}
	return minFree, reserve
}

// wanted returns how many bytes the history leaves free.
func (k *keeper) wanted(total int64) int64 {
	minFree, reserve := k.limits(total)
	if minFree > 0 && !k.hasReserve() {
		return minFree + reserve // the history leaves its space alone until the reserve exists again
	}
	return minFree
}

// holds reports whether the evictor is paused. Space that was freed since the last check ends the pause immediately, so
// that a server which stops meanwhile loses no sample.
func (k *keeper) holds() bool {
	if !k.paused.Load() {
		return false
	}
	free, total, err := k.space.Free()
	return err != nil || free < k.wanted(total)
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
	case free < reserve/4:
		k.release(time.Now())
	case reserve > 0 && free >= reserve+cmp.Or(minFree, reserve): // history is removed until then
		k.fill(reserve)
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
	if k.reserve >= 0 && k.space.ReserveFile != "" && !k.hasReserve() {
		text += "; the reserve of accounts, alarms and configuration is in use"
	}
	return text
}

func (k *keeper) hasReserve() bool {
	_, err := os.Stat(k.space.ReserveFile)
	return err == nil
}

// release releases the reserve for writes. It reports whether there is space now: also if another write has released
// the reserve since this one began.
func (k *keeper) release(since time.Time) bool {
	if k == nil || k.space.ReserveFile == "" {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := os.Remove(k.space.ReserveFile); err != nil {
		return !k.released.Before(since)
	}
	k.released = time.Now()
	k.log.Error("disk full; reserve released for accounts, alarms and configuration")
	return true
}

// fill makes the reserve, if it does not exist with this size.
func (k *keeper) fill(size int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.space.ReserveFile == "" {
		return
	}
	if info, err := os.Stat(k.space.ReserveFile); err == nil && info.Size() == size {
		return
	}
	if err := allocateFile(k.space.ReserveFile, size); err != nil {
		k.log.Warn("failed to reserve disk space", "error", errors.Join(err, os.Remove(k.space.ReserveFile)))
	}
}

// allocateFile makes a file that takes so many bytes of the disk. Where it has to be written, it has random bytes, since
// a file system may compress others.
func allocateFile(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if !allocate(f, size) {
		random := rand.NewChaCha8([32]byte{})
		for block := make([]byte, 256<<10); size > 0 && err == nil; size -= int64(len(block)) {
			block = block[:min(size, int64(len(block)))]
			_, _ = random.Read(block)
			_, err = f.Write(block)
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}
