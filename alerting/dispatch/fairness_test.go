package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
)

func TestHangingRecipientsDoNotDelayAHealthyOne(t *testing.T) {
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("takes a key ", key), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var names []string
				for i := range 10 {
					names = append(names, fmt.Sprint("hangs", i))
				}
				g := mailTo(append(names, "zoe")...)
				g.key = key
				var (
					mu sync.Mutex
					at = make(map[string]time.Time)
				)
				g.answer = func(ctx context.Context, n alerting.Notification) error {
					if n.Recipient != "zoe" {
						<-ctx.Done()
						return alerting.Ambiguous(ctx.Err())
					}
					mu.Lock()
					defer mu.Unlock()
					at[n.Title] = time.Now()
					return nil
				}
				k := newDesk(t, dispatch.Options{}, g)
				var raised []time.Time
				for i := range 30 {
					raised = append(raised, time.Now())
					k.raise(t, alarms.Critical, fmt.Sprint(i))
					pass(17 * time.Second)
				}
				pass(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				for i, from := range raised {
					title := fmt.Sprint(i)
					require.Contains(t, at, title)
					require.Less(t, at[title].Sub(from), 5*time.Second, title)
				}
				require.Equal(t, 1, g.told()["zoe 0"])
			})
		})
	}
}

func TestSendsToARecipientKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 12 {
			names = append(names, fmt.Sprint("r", i))
		}
		g := mailTo(names...)
		var (
			mu        sync.Mutex
			last      = make(map[string]string)
			now, most int
		)
		g.answer = func(_ context.Context, n alerting.Notification) error {
			mu.Lock()
			now++
			most = max(most, now)
			if last[n.Recipient] >= n.Title {
				t.Errorf("%s: %s after %s", n.Recipient, n.Title, last[n.Recipient])
			}
			last[n.Recipient] = n.Title
			mu.Unlock()
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			now--
			return nil
		}
		k := newDesk(t, dispatch.Options{}, g)
		for i := range 20 {
			k.raise(t, alarms.Critical, fmt.Sprintf("%02d", i))
			pass(100 * time.Millisecond)
		}
		pass(time.Minute)
		require.Len(t, g.messages(), 20*len(names))
		require.Equal(t, 4, most)
	})
}

func TestADeadDigestIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		refuse.Store(true)
		f := &fake{name: "email"}
		f.answer = func(_ context.Context, n alerting.Notification) error {
			if n.Digest > 0 && refuse.Load() {
				return alerting.Permanent(errors.New("too long"))
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: 2, Interval: time.Second}}}, f)
		k.raise(t, alarms.Critical, "a", "b", "c")
		pass(time.Minute)
		for _, key := range []string{"a", "b", "c"} {
			k.clear(t, key)
			pass(10 * time.Second)
		}
		require.Equal(t, []string{"a", "2 more alarm messages (2 Critical)", "-a"}, f.titles())
		require.Len(t, k.dead(t), 1)
		refuse.Store(false)
		_, err := k.RetryAll(t.Context(), "")
		require.NoError(t, err)
		pass(time.Minute)
		require.Equal(t, []string{"2 more alarm messages (2 Critical)", "-b", "-c"}, f.titles()[3:])
	})
}

func TestTheEndWaitsForTheDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		f := &fake{name: "email"}
		f.answer = func(_ context.Context, n alerting.Notification) error {
			if n.Digest > 0 && down.Load() {
				return alerting.Retryable(errors.New("down"), 0)
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: 1, Interval: time.Second}}}, f)
		k.raise(t, alarms.Critical, "a", "b")
		pass(10 * time.Second)
		k.clear(t, "b")
		pass(time.Minute)
		require.NotContains(t, f.titles(), "-b")
		down.Store(false)
		f.forget()
		pass(10 * time.Minute)
		require.Equal(t, []string{"2 more alarm messages (2 Critical)", "-b"}, f.titles())
	})
}

// unreadable is an outbox that gives first deliveries to who plans alone.
type unreadable struct {
	outbox.Store
	planned atomic.Bool
	claims  atomic.Int64
}

func (u *unreadable) FirstDeliveries(ctx context.Context, list []string) ([]outbox.Delivery, error) {
	if u.planned.Swap(true) {
		return nil, errDead
	}
	return u.Store.FirstDeliveries(ctx, list)
}

func (u *unreadable) Claim(ctx context.Context, c outbox.Claim) ([]outbox.Delivery, error) {
	u.claims.Add(1)
	return u.Store.Claim(ctx, c)
}

func TestAnOutboxThatFailsIsLeftAloneForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email"}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.close(t)
		k.clear(t, "Pump")
		deps := k.deps(f)
		u := &unreadable{Store: k.store}
		deps.Outbox = u
		d, err := dispatch.New(deps, dispatch.Options{})
		require.NoError(t, err)
		defer closeAll(t, d)
		d.Start()
		pass(10 * time.Minute)
		before := u.claims.Load()
		require.ErrorIs(t, d.Err(), errDead)
		pass(10 * time.Second)
		require.LessOrEqual(t, u.claims.Load()-before, int64(20))
		require.Equal(t, []string{"Pump"}, f.titles())
	})
}

func TestAFanOutIsPlannedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprint("r", i))
		}
		g := mailTo(names...)
		k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: -1}}}, g)
		k.close(t)
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprint("Pump ", i))
		}
		k.raise(t, alarms.Critical, keys...)
		deps := k.deps(g)
		p := &plans{Store: k.store}
		deps.Outbox = p
		d, err := dispatch.New(deps, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: -1}}})
		require.NoError(t, err)
		defer closeAll(t, d)
		d.Start()
		pass(time.Minute)
		require.Len(t, g.told(), 60*len(names))
		require.LessOrEqual(t, p.most.Load(), int64(5000))
	})
}

// plans is an outbox that notes the rows of the largest plan.
type plans struct {
	outbox.Store
	most atomic.Int64
}

func (p *plans) Plan(ctx context.Context, from, to int64, add []outbox.Delivery) error {
	p.most.Store(max(p.most.Load(), int64(len(add))))
	return p.Store.Plan(ctx, from, to, add)
}
