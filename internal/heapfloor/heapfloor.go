// Package heapfloor lets a process with a small heap collect garbage less often.
//
// The collector runs when the heap has grown by GOGC percent, which for a server with 5 MB of live data means every 5 MB: it
// took a fifth of the processor time of small requests. With a floor it runs when the heap has reached the floor, or has
// grown by 100 percent, whichever is more. A heap with more live data than half the floor is collected as before.
package heapfloor

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Size is the floor of the engine in bytes. It lets the process take up to 8 MB more than without one.
const Size = 16 << 20

const (
	normal  = 100 // percent, the default of Go
	highest = 400
)

// Set holds the floor until stop is called. It does nothing when the environment sets GOGC. It is for the process as a
// whole, so for main.
func Set(floor uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	k := &keeper{floor: floor, percent: normal}
	k.watch()
	return k.stop
}

type keeper struct {
	floor uint64

	mu      sync.Mutex
	percent int64 // as set
	stopped bool
}

func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	debug.SetGCPercent(normal)
}

// watch has adjust called after the next collection: that is when an object without references is cleaned up.
func (k *keeper) watch() {
	object := new([64]byte)
	runtime.AddCleanup(object, (*keeper).adjust, k)
}

func (k *keeper) adjust() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	// Setting stops the world for a moment, so small changes are left out.
	if was, is := k.percent, percentFor(k.floor, live()); is < was-was/10 || is > was+was/10 || is == normal && was != normal {
		k.percent = is
		debug.SetGCPercent(int(is))
	}
	k.watch()
}

// live returns the bytes that the last collection found in use.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// percentFor returns by how many percent a heap may grow before it is collected.
func percentFor(floor, live uint64) int64 {
	if live == 0 || live >= floor/2 {
		return normal
	}
	return min(highest, int64((floor-live)*100/live))
}
