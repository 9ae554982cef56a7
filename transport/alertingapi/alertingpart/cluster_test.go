package alertingpart

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// mail is a channel of one engine. While it hangs, its messages do not end.
type mail struct {
	sent atomic.Int32
	hang atomic.Bool
}

func (m *mail) Name() string { return alerting.ChannelEmail }

func (m *mail) Send(ctx context.Context, _ alerting.Notification) error {
	m.sent.Add(1)
	if m.hang.Load() {
		<-ctx.Done()
		return alerting.Ambiguous(ctx.Err())
	}
	return nil
}

// trimmed counts the trims of the history of alerts.
type trimmed struct {
	*history.Memory
	n atomic.Int32
}

func (s *trimmed) TrimRecords(context.Context, time.Time) error {
	s.n.Add(1)
	return nil
}

func TestEnginesOfAPlantSendOnForOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plant, store := plantest.New(t), alarms.NewMemory()
		ruleStore := rules.NewMemory(store)
		records, quiet, messages := &trimmed{Memory: history.NewMemory()}, silences.NewMemory(), outbox.NewMemory()
		channels := map[string]*mail{"a": {}, "b": {}}
		engines := map[string]*plantest.Engine{}
		var service *alarms.Service
		for id, channel := range channels {
			e := plant.Join(id)
			t1, err := tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json")})
			require.NoError(t, err)
			a, err := alarmspart.New(t.Context(), t1, alarmspart.Options{Alarms: store, Resolutions: store, Rules: ruleStore, RuleStates: ruleStore, Poll: time.Second})
			require.NoError(t, err)
			p, err := New(t.Context(), a, Options{Silences: quiet, History: records, Outbox: messages, Cluster: e.Cluster, Channels: []alerting.Channel{channel},
				Routes: alerting.Routes{alarms.Critical: {alerting.ChannelEmail}}})
			require.NoError(t, err)
			t.Cleanup(func() {
				ctx := context.Background()
				require.NoError(t, errors.Join(p.drain(ctx), server.CloseParts(ctx, t1.Part(), a.Part())))
			})
			e.Start(p.Part())
			engines[id], service = e, a.Service()
		}
		time.Sleep(time.Minute)
		channels["a"].hang.Store(true)
		channels["b"].hang.Store(true)
		_, err := service.Raise(t.Context(), alarms.Alarm{Key: "k", Source: "pump", Message: "hot", Severity: alarms.Critical})
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		hung, other := "a", "b"
		if channels["b"].sent.Load() > 0 {
			hung, other = "b", "a"
		}
		require.EqualValues(t, 1, channels[hung].sent.Load())
		require.Zero(t, channels[other].sent.Load())
		channels[other].hang.Store(false)
		engines[hung].Cut(true)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 1, channels[other].sent.Load(), "within seconds, although the claim lasts for two minutes")
		engines[hung].Cut(false)
		channels[hung].hang.Store(false)
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, channels[hung].sent.Load())
		require.EqualValues(t, 1, channels[other].sent.Load())
		require.EqualValues(t, 1, records.n.Load())
	})
}
