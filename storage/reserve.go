package storage

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// class is what a write may use of the reserve. The history uses nothing of it.
type class uint8

const (
	ordinary class = iota // the first half
	vital                 // all of it
)

// reserve is two files that take space until a full disk needs it. They are two, so that ordinary writes cannot use up
// what vital ones need: an acknowledgement is stored as long as anything is left.
type reserve struct {
	files [vital + 1]string

	inUse atomic.Bool // the first half is released
	spent atomic.Bool // nothing is left for ordinary writes: they are refused until the vital half exists and as much is free

	mu       sync.Mutex // of the files
	released time.Time  // when the last one was
}

// reserveFiles returns the files of a reserve.
func reserveFiles(file string) [vital + 1]string { return [...]string{file, file + "-vital"} }

// reserveSize returns the bytes of both halves.
func reserveSize(option, total int64) int64 {
	if option == 0 {
		option = min(total/reserveShare, maxReserve)
	}
	return max(option, 0)
}

func halfOf(reserve int64, c class) int64 {
	if c == vital {
		return reserve / 2
	}
	return reserve - reserve/2
}

// size returns the bytes of one half, 0 if it does not exist.
func (r *reserve) size(c class) int64 {
	info, err := os.Stat(r.files[c])
	if err != nil {
		return 0
	}
	return info.Size()
}

// missing returns how many bytes of a reserve of this size are released.
func (r *reserve) missing(reserve int64) int64 {
	return max(reserve-r.size(ordinary)-r.size(vital), 0)
}

// ReserveSize returns the bytes that the options reserve on a disk of this size.
func (o Options) ReserveSize(total int64) int64 { return reserveSize(o.Reserve, total) }

// Relieve releases the reserve if the disk is too full to open a database.
func (s Space) Relieve() error {
	if s.Free == nil || s.ReserveFile == "" {
		return nil
	}
	for _, file := range reserveFiles(s.ReserveFile) {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if free, _, err := s.Free(); err != nil || free >= info.Size() {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// admit returns ErrFull for an ordinary write when the rest of the reserve is for vital ones.
func (k *keeper) admit(c class) error {
	if k == nil || c == vital || !k.parts.spent.Load() {
		return nil
	}
	// The free space counts only beside the vital half: while that is released, what is free is its rest.
	half := k.parts.size(vital)
	if free, _, err := k.space.Free(); err == nil && half > 0 && free >= half {
		k.parts.spent.Store(false)
		return nil
	}
	return ErrFull.Because("the rest of the disk is reserved for sessions, alarms and acknowledgements")
}

// scarce reports whether only vital writes are admitted.
func (k *keeper) scarce() bool { return k != nil && k.parts.spent.Load() }

// release releases what is left of the reserve for a write of this class that met a full disk. It reports whether there
// may be space now: also if another write has released a part since this one began.
func (k *keeper) release(c class, since time.Time) bool {
	if k == nil || k.space.ReserveFile == "" || k.space.Free == nil || k.reserve < 0 {
		return false
	}
	r := &k.parts
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case os.Remove(r.files[ordinary]) == nil:
		r.inUse.Store(true)
		k.log.Error("disk full; reserve released for accounts, alarms and configuration")
	case !r.released.Before(since):
		return true
	default:
		if !r.spent.Swap(true) {
			k.log.Error("disk full; only sessions, alarms and acknowledgements are stored from the rest of the reserve")
		}
		if c == ordinary || os.Remove(r.files[vital]) != nil {
			return false
		}
	}
	r.released = time.Now()
	k.awaken()
	return true
}

// fill makes the halves of the reserve that the disk has space for, the vital one first, and returns what is free then.
func (k *keeper) fill(free, minFree, reserve int64) int64 {
	r := &k.parts
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.space.ReserveFile == "" {
		return free
	}
	more := cmp.Or(minFree, reserve) // history is removed until this is free beside the reserve
	for _, half := range []struct {
		class class
		spare int64 // what must stay free beside it, so that it is not released again soon
	}{{vital, reserve - reserve/2}, {ordinary, more}} {
		size, has := halfOf(reserve, half.class), r.size(half.class)
		if has == size || free+has < size+half.spare {
			continue
		}
		if err := allocateFile(r.files[half.class], size); err != nil {
			k.log.Warn("failed to reserve disk space", "error", errors.Join(err, os.Remove(r.files[half.class])))
			break
		}
		free += has - size
	}
	r.inUse.Store(r.size(ordinary) == 0)
	return free
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
