package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alarms/rules/rulestest"
)

// half is a store that implements only what is required.
type half struct{ rules.Store }

func TestRequiredHalf(t *testing.T) {
	rulestest.TestStore(t, func(testing.TB) (rules.Store, func() rules.Store) { return half{rules.NewMemory(nil)}, nil })
}

func TestServiceOverTheRequiredHalf(t *testing.T) {
	memory := alarms.NewMemory()
	target, err := alarms.New(t.Context(), memory, alarms.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close(t.Context())) }()
	store := rules.NewMemory(memory)
	_, err = rules.New(t.Context(), half{store}, target, rules.Options{PollInterval: time.Second})
	require.ErrorContains(t, err, "PollInterval")
	s, err := rules.New(t.Context(), half{store}, target, rules.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	for i := range 7 {
		r := rules.Rule{ID: fmt.Sprint(i), Tag: "a", Kind: rules.High, Severity: alarms.Error, Enabled: true}
		if i%3 == 0 {
			r.Tag = "b"
		}
		_, err := s.Add(t.Context(), r)
		require.NoError(t, err)
	}
	for _, tag := range []string{"", "a", "b", "c"} {
		for page := 1; page <= 5; page++ {
			want, total, err := store.RulePage(t.Context(), rules.Query{Tag: tag, Offset: 2 * (page - 1), Limit: 2})
			require.NoError(t, err)
			got, n, err := s.Page(t.Context(), tag, page, 2)
			require.NoError(t, err)
			require.Equal(t, total, n)
			require.Equal(t, want, append([]rules.Rule{}, got...))
		}
	}
}
