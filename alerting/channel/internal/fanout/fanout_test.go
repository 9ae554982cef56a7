package fanout_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/fanout"
)

func Example() {
	var s fanout.Sender
	refused := true
	send := func(to string) error {
		if to == "bob" && refused {
			return alerting.Retryable(errors.New("busy"), 0)
		}
		fmt.Println("sent to", to)
		return nil
	}
	fmt.Println(s.Each("message 1", []string{"anna", "bob"}, send))
	refused = false
	fmt.Println(s.Each("message 1", []string{"anna", "bob"}, send))
	// Output:
	// sent to anna
	// recipient 2: busy
	// sent to bob
	// <nil>
}

func TestWorst(t *testing.T) {
	permanent, retryable := alerting.Permanent(errors.New("p")), alerting.Retryable(errors.New("r"), time.Minute)
	for _, c := range []struct {
		errs    []error
		outcome alerting.Outcome
		after   time.Duration
	}{
		{[]error{permanent, nil}, alerting.OutcomePermanent, 0},
		{[]error{permanent, retryable}, alerting.OutcomeRetryable, time.Minute},
		{[]error{retryable, errors.New("?"), permanent}, alerting.OutcomeAmbiguous, time.Minute},
	} {
		var (
			s  fanout.Sender
			to []string
			e  *alerting.SendError
		)
		for i := range c.errs {
			to = append(to, fmt.Sprint(i))
		}
		err := s.Each("m", to, func(r string) error { return c.errs[r[0]-'0'] })
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.outcome, e.Outcome)
		require.Equal(t, c.after, e.After)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var s fanout.Sender
	sent := 0
	send := func(string) error { sent++; return nil }
	for i := range 2000 {
		require.NoError(t, s.Each(fmt.Sprint(i), []string{"a"}, send))
	}
	require.NoError(t, s.Each("1999", []string{"a"}, send))
	require.Equal(t, 2000, sent)
	require.NoError(t, s.Each("0", []string{"a"}, send))
	require.Equal(t, 2001, sent, "the oldest is forgotten")
}
