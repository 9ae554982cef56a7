package cluster_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

// Work that ends because it sees that its lease is over, before its context ends, is not work that the engine cannot do.
func TestWorkThatSeesTheEndOfItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 30)
		sees := func(o *cluster.Options) {
			do := o.Do
			o.Do = func(ctx context.Context, lease *cluster.Held) error {
				seen, cancel := context.WithCancel(ctx)
				var looks sync.WaitGroup
				looks.Go(func() {
					for lease.Valid() && seen.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					cancel()
				})
				defer looks.Wait()
				defer cancel()
				return do(seen, lease)
			}
		}
		a, b := p.join("a", sees), p.join("b", sees)
		for range 5 {
			p.pass(20 * time.Second)
			a.link.cut.Store(true)
			p.pass(5 * time.Second)
			a.link.cut.Store(false)
			p.pass(2 * time.Second)
			for _, s := range b.View().Sessions {
				require.Empty(t, s.Unable, s.Engine)
			}
		}
		p.close()
	})
}
