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

// dying is an outbox of a process that dies at some point: from then on every call fails, and the
// call at that point has its effect or not.
type dying struct {
	outbox.Store
	mu    sync.Mutex
	calls int
	at    int
	late  bool // the fatal call still has its effect
}

var errDead = errors.New("the process is dead")

func (d *dying) call(do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.calls < d.at {
		return do()
	}
	if d.calls == d.at && d.late {
		_ = do()
	}
	return errDead
}

func (d *dying) Plan(ctx context.Context, from, to int64, add []outbox.Delivery) error {
	return d.call(func() error { return d.Store.Plan(ctx, from, to, add) })
}

func (d *dying) Claim(ctx context.Context, c outbox.Claim) (list []outbox.Delivery, err error) {
	err = d.call(func() error {
		list, err = d.Store.Claim(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (d *dying) Settle(ctx context.Context, owner string, done []outbox.Settlement, add []outbox.Delivery) error {
	return d.call(func() error { return d.Store.Settle(ctx, owner, done, add) })
}

// TestCrashAnywhere ends the process at every call to the outbox in turn, before and after the call
// took effect. After the restart everything is told, and each message once to a peer that takes a key.
func TestCrashAnywhere(t *testing.T) {
	const events = 5
	for at := 1; at <= 14; at++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, late %v", at, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					peer := make(map[string]string) // what the peer has taken, by key
					f := &fake{name: "webhook", key: true}
					f.answer = func(_ context.Context, n alerting.Notification) error {
						peer[n.ID] = n.Title
						return nil
					}
					o := dispatch.Options{Owner: "engine-1", Routes: alerting.Routes{alarms.Info: {"webhook"}}}
					k := newDesk(t, o, f)
					k.close(t) // it is only here for what is around it

					deps := k.deps(f)
					deps.Outbox = &dying{Store: k.store, at: at, late: late}
					first, err := dispatch.New(deps, o)
					require.NoError(t, err)
					first.Start()
					for i := range events {
						k.raise(t, alarms.Info, fmt.Sprint(i))
						first.Wake()
						pass(10 * time.Millisecond)
					}
					pass(time.Second)
					closeAll(t, first)

					k.start(t, o, f)
					pass(time.Minute)
					require.Len(t, peer, events)
					told := make(map[string]bool)
					for _, title := range peer {
						require.False(t, told[title], "%s was told under two keys", title)
						told[title] = true
					}
				})
			})
		}
	}
}

func TestTwoDispatchersShareAnOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard", answer: func(context.Context, alerting.Notification) error {
			time.Sleep(time.Millisecond)
			return nil
		}}
		k := newDesk(t, dispatch.Options{}, f)
		other, err := dispatch.New(k.deps(f), dispatch.Options{})
		require.NoError(t, err)
		defer closeAll(t, other)
		other.Start()
		for i := range 50 {
			k.raise(t, alarms.Info, fmt.Sprint("a", i), fmt.Sprint("b", i))
			other.Wake()
			pass(time.Millisecond)
		}
		pass(time.Minute)
		require.Len(t, f.messages(), 100)
		keys := make(map[string]bool)
		for _, n := range f.messages() {
			require.False(t, keys[n.EventID])
			keys[n.EventID] = true
		}
	})
}

// unsettled is an outbox of a process that dies before it can say what it has sent.
type unsettled struct{ outbox.Store }

func (unsettled) Settle(context.Context, string, []outbox.Settlement, []outbox.Delivery) error {
	return errDead
}

func TestLeaseOfADeadEngineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		k.raise(t, alarms.Info, "Pump")
		hang := &fake{name: "dashboard", answer: func(ctx context.Context, _ alerting.Notification) error {
			<-ctx.Done()
			return nil
		}}
		deps := k.deps(hang)
		deps.Outbox = unsettled{k.store}
		gone, err := dispatch.New(deps, dispatch.Options{})
		require.NoError(t, err)
		gone.Start()
		pass(time.Second)
		closeAll(t, gone)
		require.Len(t, hang.titles(), 1)
		k.start(t, dispatch.Options{}, f)
		pass(time.Minute)
		require.Empty(t, f.titles())
		pass(time.Minute)
		require.Len(t, f.titles(), 1)
	})
}

// Where it is known which engines run, nobody waits for the end of a lease.
func TestMessagesOfAnEngineThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		alive := []string{"a", "b"}
		o := func(owner string) dispatch.Options {
			return dispatch.Options{Owner: owner, Alive: func() []string {
				mu.Lock()
				defer mu.Unlock()
				return alive
			}}
		}
		f := &fake{name: "dashboard"}
		k := newDesk(t, o("b"), f)
		k.close(t)
		k.raise(t, alarms.Info, "Pump")
		deps := k.deps(&fake{name: "dashboard", answer: func(ctx context.Context, _ alerting.Notification) error {
			<-ctx.Done()
			return nil
		}})
		deps.Outbox = unsettled{k.store}
		gone, err := dispatch.New(deps, o("a"))
		require.NoError(t, err)
		gone.Start()
		pass(time.Second)
		closeAll(t, gone) // killed: it has claimed the message and says no more
		k.start(t, o("b"), f)
		pass(30 * time.Second)
		require.Empty(t, f.titles(), "it may be sending")
		mu.Lock()
		alive = []string{}
		mu.Unlock()
		pass(30 * time.Second)
		require.Empty(t, f.titles(), "nobody knows which engines run")
		k.raise(t, alarms.Info, "Fan")
		pass(time.Second)
		require.Empty(t, f.titles(), "an engine that the others may take for gone sends nothing")
		mu.Lock()
		alive = []string{"b"}
		mu.Unlock()
		pass(8 * time.Second)
		require.Len(t, f.titles(), 2)
	})
}

// An engine that has hung in the middle of its messages leaves the rest to the others.
func TestAnEngineThatHungSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Bool
		var sent atomic.Int32
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error {
			if sent.Add(1) == 3 {
				hung.Store(true)
			}
			return nil
		}}
		k := newDesk(t, dispatch.Options{Owner: "a", Routes: alerting.Routes{alarms.Info: {"email"}}, Alive: func() []string {
			if hung.Load() {
				return nil
			}
			return []string{"a"}
		}}, f)
		for i := range 10 {
			k.raise(t, alarms.Info, fmt.Sprint(i))
		}
		pass(time.Minute)
		require.Len(t, f.titles(), 3)
		hung.Store(false)
		pass(time.Minute)
		require.Len(t, f.titles(), 10)
	})
}

func TestCloseLetsTheMessageEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		f := &fake{name: "email", answer: func(ctx context.Context, _ alerting.Notification) error {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
				ended = ctx.Err()
			}
			return nil
		}}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan")
		pass(time.Second)
		k.close(t)
		require.NoError(t, ended)
		require.Equal(t, []string{"Pump"}, f.titles())
		k.start(t, dispatch.Options{}, f)
		pass(time.Minute)
		require.Len(t, f.messages(), 2)
		require.Equal(t, "Fan", f.messages()[1].Message, "what was sent is not sent again")
	})
}

func TestStartAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		k.raise(t, alarms.Info, "old", "new")
		k.start(t, dispatch.Options{StartAfter: 1}, f)
		pass(time.Second)
		require.Len(t, f.messages(), 1)
		require.Equal(t, "new", f.messages()[0].Message)
	})
}

func TestFloodBecomesADigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail, board := &fake{name: "email"}, &fake{name: "dashboard"}
		o := dispatch.Options{
			Routes:     alerting.Routes{alarms.Error: {"email", "dashboard"}},
			RateLimits: map[string]alerting.RateLimit{"email": {Burst: 5, Interval: time.Minute}},
		}
		k := newDesk(t, o, mail, board)
		var keys []string
		for i := range 300 {
			keys = append(keys, fmt.Sprintf("Pump %d", i))
		}
		k.raise(t, alarms.Error, keys...)
		pass(time.Second)
		require.Len(t, board.titles(), 300, "the dashboard has no limit")
		require.Len(t, mail.titles(), 5)
		last := mail.messages()[4]
		require.Equal(t, 296, last.Digest)
		require.Equal(t, "296 more alarm messages (296 Error)", last.Title)
		require.Contains(t, last.Body, "Pump 23\nand 276 more")

		k.raise(t, alarms.Critical, "worse", "worst")
		pass(59 * time.Second)
		require.Len(t, mail.titles(), 6, "one a minute")
		require.Equal(t, 2, mail.messages()[5].Digest)
		k.clear(t, "Pump 7")
		pass(10 * time.Minute)
		require.Equal(t, "-Pump 7", mail.titles()[6], "whoever was told by a digest hears of the end")
	})
}

func TestFloodTellsTheGravest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email"}
		row := []string{"email"}
		o := dispatch.Options{
			Routes:     alerting.Routes{alarms.Info: row, alarms.Warning: row, alarms.Error: row, alarms.Critical: row},
			RateLimits: map[string]alerting.RateLimit{"": {Burst: 3, Interval: time.Hour}},
		}
		k := newDesk(t, o, f)
		k.close(t)
		k.raise(t, alarms.Info, "a", "b", "c")
		k.raise(t, alarms.Critical, "x", "y")
		k.raise(t, alarms.Warning, "w")
		k.start(t, o, f)
		pass(time.Minute)
		var got []string
		for _, n := range f.messages() {
			got = append(got, n.Message)
		}
		require.Equal(t, []string{"x", "y", "4 more alarm messages"}, got)
		require.Equal(t, alarms.Warning, f.messages()[2].Severity)
	})
}

func TestFloodAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		f := &fake{name: "email"}
		f.answer = func(context.Context, alerting.Notification) error {
			if down.Load() {
				return alerting.Retryable(errors.New("connection refused"), 0)
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, f)
		for i := range 200 {
			k.raise(t, alarms.Critical, fmt.Sprint(i))
			pass(10 * time.Second)
		}
		require.Less(t, len(f.messages()), 120, "a peer that is down is left alone")
		down.Store(false)
		f.forget()
		pass(10 * time.Minute)
		told := 0
		for _, n := range f.messages() {
			told += max(n.Digest, 1)
		}
		require.Equal(t, 200, told)
		require.LessOrEqual(t, len(f.messages()), 31)
	})
}

// dyingAfterClaim is an outbox of a process that dies when it has claimed something.
type dyingAfterClaim struct {
	outbox.Store
	dead atomic.Bool
}

func (d *dyingAfterClaim) Claim(ctx context.Context, c outbox.Claim) ([]outbox.Delivery, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	list, err := d.Store.Claim(ctx, c)
	if len(list) == 0 {
		return nil, err
	}
	d.dead.Store(true)
	return nil, errDead
}

// What a process had claimed when it was killed may have arrived. It holds up nothing for longer than a flood does anyway.
func TestACrashInAFloodHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood = 300
		f := &fake{name: "email"}
		o := dispatch.Options{Owner: "engine-1", Routes: alerting.Routes{alarms.Critical: {"email"}},
			RateLimits: map[string]alerting.RateLimit{"email": {Burst: 3, Interval: 10 * time.Second}}}
		k := newDesk(t, o, f)
		k.close(t)
		raiseCritical(t, k, flood, func(i int) string { return fmt.Sprintf("Pump <%d>", i) })
		deps := k.deps(f)
		deps.Outbox = &dyingAfterClaim{Store: k.store}
		killed, err := dispatch.New(deps, o)
		require.NoError(t, err)
		killed.Start()
		pass(time.Minute)
		require.NoError(t, killed.Close(t.Context()))
		require.Empty(t, f.messages())

		k.start(t, o, f)
		pass(time.Second)
		_, err = k.alarms.RaiseMany(t.Context(), []alarms.Alarm{{Key: "new", Source: "<new>", Message: "fire", Severity: alarms.Critical}})
		require.NoError(t, err)
		pass(time.Minute)
		requireSources(t, f.messages(), flood)
		require.Contains(t, fmt.Sprint(f.messages()), "<new>")
	})
}
