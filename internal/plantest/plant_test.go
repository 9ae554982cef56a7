package plantest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/transport/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A job that happens once runs on one engine at a time, also if it ends by itself, and on another one when its engine leaves or hangs.
func TestJobsThatHappenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plant := plantest.New(t)
		var running, began [2]atomic.Int32
		engines := make([]*plantest.Engine, 2)
		for i := range engines {
			engines[i] = plant.Join(string(rune('a' + i)))
			lasting := engines[i].Cluster.Once("lasting", func(ctx context.Context) {
				running[i].Add(1)
				defer running[i].Add(-1)
				<-ctx.Done()
			})
			short := engines[i].Cluster.Once("short", func(context.Context) { began[i].Add(1) })
			engines[i].Start(server.Part{Jobs: []func(context.Context){lasting, short}})
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, running[0].Load()+running[1].Load())
		require.EqualValues(t, 1, began[0].Load()+began[1].Load(), "it has nothing to do any more")
		owner := 0
		if running[1].Load() == 1 {
			owner = 1
		}
		engines[owner].Cut(true)
		time.Sleep(10 * time.Second)
		require.Zero(t, running[owner].Load())
		require.EqualValues(t, 1, running[1-owner].Load())
		engines[owner].Cut(false)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 1, running[0].Load()+running[1].Load())
		engines[1-owner].Leave()
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 1, running[owner].Load())
		require.Zero(t, running[1-owner].Load())
	})
}
