package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
)

// group is a fake with several recipients.
type group struct {
	*fake
	to []string
}

func (g group) Recipients() []string { return g.to }

// told returns who got what.
func (g group) told() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := make(map[string]int)
	for _, n := range g.got {
		counts[n.Recipient+" "+n.Title]++
	}
	return counts
}

func mailTo(to ...string) group { return group{&fake{name: "email"}, to} }

func TestEachRecipientHasADeliveryOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		refuse.Store(true)
		g := mailTo("anna", "bob", "anna")
		g.answer = func(_ context.Context, n alerting.Notification) error {
			if n.Recipient == "bob" && refuse.Load() {
				return alerting.Permanent(errors.New("no such user"))
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, g)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.close(t)
		k.start(t, dispatch.Options{Templates: map[string]alerting.TemplateText{"": {Subject: "{{if .Resolved}}-{{end}}{{.Title}}"}}}, g)
		pass(time.Minute)
		require.Equal(t, map[string]int{"anna Pump": 1, "bob Pump": 1}, g.told(), "who has it does not get it again")
		require.NotEqual(t, g.messages()[0].ID, g.messages()[1].ID)
		dead := k.dead(t)
		require.Len(t, dead, 1)
		require.Equal(t, "bob", dead[0].Recipient)

		k.clear(t, "Pump")
		pass(time.Second)
		require.Equal(t, map[string]int{"anna Pump": 1, "bob Pump": 1, "anna -Pump": 1}, g.told())
		refuse.Store(false)
		n, err := k.RetryAll(t.Context(), "email")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		pass(time.Second)
		require.Equal(t, map[string]int{"anna Pump": 1, "bob Pump": 2, "anna -Pump": 1, "bob -Pump": 1}, g.told())
		last := g.titles()
		require.Equal(t, []string{"Pump", "-Pump"}, last[len(last)-2:], "in order")
	})
}

func TestAHangingRecipientDoesNotStarveOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mailTo("anna", "bob")
		g.answer = func(ctx context.Context, n alerting.Notification) error {
			if n.Recipient == "anna" {
				<-ctx.Done()
				return alerting.Ambiguous(ctx.Err())
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: -1}}}, g)
		for i := range 300 {
			k.raise(t, alarms.Critical, fmt.Sprint(i))
		}
		pass(5 * time.Minute)
		bob := 0
		for who, n := range g.told() {
			if who[:3] == "bob" {
				require.Equal(t, 1, n, who)
				bob++
			}
		}
		require.Equal(t, 300, bob)
		require.True(t, k.Channels()[0].PausedUntil.IsZero(), "the channel as a whole does not wait")
	})
}

func TestRetryAfterIsOfTheChannelOrOfARecipient(t *testing.T) {
	slow := errors.New("slow down")
	for _, c := range []struct {
		err  error // for more than is honoured
		told bool  // whether the others are told meanwhile
	}{
		{&alerting.SendError{Outcome: alerting.OutcomeRetryable, RetryAfter: 24 * time.Hour, RecipientOnly: true, Err: slow}, true},
		{alerting.Retryable(slow, 24*time.Hour), false},
	} {
		testRetryAfter(t, c.err, c.told)
	}
}

func testRetryAfter(t *testing.T, err error, others bool) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		g := mailTo("anna", "bob")
		g.answer = func(_ context.Context, n alerting.Notification) error {
			if n.Recipient == "bob" {
				return nil
			}
			if at = append(at, time.Since(start).Round(10*time.Second)); len(at) == 1 {
				return err
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, g)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.raise(t, alarms.Critical, "Fan")
		pass(time.Minute)
		told := g.told()
		require.Equal(t, 1, told["anna Pump"])
		require.Zero(t, told["anna Fan"])
		// Whether bob was told of the pump before anna's answer came is left to chance.
		require.Equal(t, others, told["bob Fan"] == 1)
		pass(time.Hour)
		require.Equal(t, map[string]int{"anna Pump": 2, "anna Fan": 1, "bob Pump": 1, "bob Fan": 1}, g.told())
		require.Equal(t, []time.Duration{0, 30 * time.Minute, 30 * time.Minute}, at)
		for _, n := range k.dead(t) {
			require.Fail(t, n.LastError)
		}
	})
}

func TestARecipientThatIsNotConfiguredAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mailTo("anna", "bob")
		g.answer = func(context.Context, alerting.Notification) error { return alerting.Retryable(errors.New("down"), 0) }
		k := newDesk(t, dispatch.Options{}, g)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.close(t)
		next := mailTo("anna")
		k.start(t, dispatch.Options{}, next)
		pass(time.Hour)
		require.Len(t, next.messages(), 1)
		require.Empty(t, k.dead(t), "there is nobody to mend it for")
	})
}

func TestDeliveriesOfBeforeRecipientsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &fake{name: "email", answer: func(context.Context, alerting.Notification) error { return alerting.Retryable(errors.New("down"), 0) }}
		k := newDesk(t, dispatch.Options{}, old)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.close(t)
		g := mailTo("anna", "bob")
		k.start(t, dispatch.Options{Templates: map[string]alerting.TemplateText{"": {Subject: "{{if .Resolved}}-{{end}}{{.Title}}"}}}, g)
		k.clear(t, "Pump")
		pass(time.Minute)
		require.Equal(t, map[string]int{"anna Pump": 1, "bob Pump": 1, "anna -Pump": 1, "bob -Pump": 1}, g.told())
	})
}

func TestDigestsAreOfOneRecipient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mailTo("anna", "bob")
		k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: 3, Interval: time.Hour}}}, g)
		var keys []string
		for i := range 50 {
			keys = append(keys, fmt.Sprint("Pump ", i))
		}
		k.raise(t, alarms.Critical, keys...)
		pass(time.Second)
		digests := make(map[string]int)
		for _, n := range g.messages() {
			digests[n.Recipient] += n.Digest
		}
		require.Len(t, g.messages(), 6)
		require.Equal(t, map[string]int{"anna": 48, "bob": 48}, digests)
	})
}

func TestTestNamesTheRecipientsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mailTo("anna", "bob", "cleo")
		g.answer = func(ctx context.Context, n alerting.Notification) error {
			if n.Recipient == "bob" {
				<-ctx.Done()
				return alerting.Ambiguous(ctx.Err())
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, g)
		err := k.Test(t.Context(), "email")
		require.ErrorIs(t, err, alerting.ErrChannelFailed)
		require.ErrorContains(t, err, "recipient bob:")
		require.NotContains(t, err.Error(), "cleo")
		require.Len(t, g.told(), 3)
	})
}
