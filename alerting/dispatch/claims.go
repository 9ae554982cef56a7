package dispatch

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	claimCheck = time.Second
	// claimGrace is how long a dispatcher must be gone: one that is back by then has sent what it had claimed.
	claimGrace = 5 * time.Second
	// claimSweep is how often claims are looked for although no dispatcher has gone.
	claimSweep = 30 * time.Second
)

// releaseClaims ends the claims of dispatchers that do not run any more, until ctx ends.
func (d *Dispatcher) releaseClaims(ctx context.Context) {
	w := claimWatch{d: d, began: time.Now(), seen: make(map[string]time.Time)}
	for wait(ctx, nil, claimCheck) {
		if err := w.check(ctx); ctx.Err() == nil && d.setError("claims", err) && err != nil {
			d.log.Error("failed to release the claims of engines that are gone; retrying", "error", err)
		}
	}
}

// claimWatch knows which dispatchers run.
type claimWatch struct {
	d     *Dispatcher
	began time.Time
	seen  map[string]time.Time // when a dispatcher was alive last
	swept time.Time            // the last release
	alive []string             // then
}

func (w *claimWatch) check(ctx context.Context) error {
	list := w.d.o.Alive()
	if !slices.Contains(list, w.d.o.Owner) {
		return nil // who runs is not known
	}
	now := time.Now()
	for _, name := range list {
		w.seen[name] = now
	}
	maps.DeleteFunc(w.seen, func(_ string, at time.Time) bool { return now.Sub(at) >= claimGrace })
	alive := slices.Sorted(maps.Keys(w.seen))
	if now.Sub(w.began) < claimGrace || slices.Equal(alive, w.alive) && now.Sub(w.swept) < claimSweep {
		return nil
	}
	n, err := w.d.claims.ReleaseClaims(ctx, alive)
	if err != nil {
		return err
	}
	if w.alive, w.swept = alive, now; n > 0 {
		w.d.log.Warn("messages of an engine that is gone are sent by others", "messages", n)
		w.d.wakeWorkers()
	}
	return nil
}
