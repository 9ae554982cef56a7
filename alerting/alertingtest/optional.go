package alertingtest

import (
	"context"
	"testing"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
)

// outboxStore has the optional methods of an outbox. One that the outbox under test does not have skips the test.
type outboxStore struct {
	outbox.Store
	t testing.TB
}

// optional returns s as one of its optional interfaces.
func optional[I any](t testing.TB, s any) I {
	i, ok := s.(I)
	if !ok {
		t.Skipf("the store does not implement %T", (*I)(nil))
	}
	return i
}

func (o outboxStore) DigestDeliveries(ctx context.Context, digest string) ([]outbox.Delivery, error) {
	return optional[outbox.DigestSplitter](o.t, o.Store).DigestDeliveries(ctx, digest)
}

func (o outboxStore) SplitDigest(ctx context.Context, owner, digest string, silenced []string, now time.Time) error {
	return optional[outbox.DigestSplitter](o.t, o.Store).SplitDigest(ctx, owner, digest, silenced, now)
}

func (o outboxStore) DigestMessages(ctx context.Context, digest string, offset, limit int) ([]outbox.Delivery, int64, error) {
	return optional[outbox.DigestReader](o.t, o.Store).DigestMessages(ctx, digest, offset, limit)
}

func (o outboxStore) ExpireOrphaned(ctx context.Context, channels []string, now, expired time.Time, why string) (map[string]int, error) {
	return optional[outbox.Cleaner](o.t, o.Store).ExpireOrphaned(ctx, channels, now, expired, why)
}

func (o outboxStore) TrimDeliveries(ctx context.Context, before, active time.Time) error {
	return optional[outbox.Cleaner](o.t, o.Store).TrimDeliveries(ctx, before, active)
}

func (o outboxStore) ReleaseClaims(ctx context.Context, alive []string) (int, error) {
	return optional[outbox.ClaimReleaser](o.t, o.Store).ReleaseClaims(ctx, alive)
}

func (o outboxStore) DeadLetter(ctx context.Context, id string) (outbox.Delivery, error) {
	return optional[outbox.DeadLetters](o.t, o.Store).DeadLetter(ctx, id)
}

func (o outboxStore) DeadLetters(ctx context.Context, channel string, offset, limit int) ([]outbox.Delivery, int64, error) {
	return optional[outbox.DeadLetters](o.t, o.Store).DeadLetters(ctx, channel, offset, limit)
}

func (o outboxStore) RequeueDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error) {
	return optional[outbox.DeadLetters](o.t, o.Store).RequeueDeadLetters(ctx, id, channel, now, expires)
}

func (o outboxStore) DiscardDeadLetters(ctx context.Context, id, channel string, now time.Time) (int, error) {
	return optional[outbox.DeadLetters](o.t, o.Store).DiscardDeadLetters(ctx, id, channel, now)
}

func (o outboxStore) CountDeadLetters(ctx context.Context) (map[string]outbox.DeadLetterCount, error) {
	return optional[outbox.DeadLetters](o.t, o.Store).CountDeadLetters(ctx)
}

// historyStore is outboxStore for a history.
type historyStore struct {
	history.Store
	t testing.TB
}

func (s historyStore) CountBySeverity(ctx context.Context, from, to time.Time) ([]history.SeverityCount, error) {
	return optional[history.Statistics](s.t, s.Store).CountBySeverity(ctx, from, to)
}

func (s historyStore) CountBySource(ctx context.Context, from, to time.Time) ([]history.SourceCount, error) {
	return optional[history.Statistics](s.t, s.Store).CountBySource(ctx, from, to)
}

func (s historyStore) TrimRecords(ctx context.Context, before time.Time) error {
	return optional[history.Trimmer](s.t, s.Store).TrimRecords(ctx, before)
}

func (s historyStore) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (history.Related, error) {
	return optional[history.ReceiverStore](s.t, s.Store).RelatedRecords(ctx, keys)
}

func (s historyStore) CountOpen(ctx context.Context, prefix string) (int64, error) {
	return optional[history.ReceiverStore](s.t, s.Store).CountOpen(ctx, prefix)
}

func (s historyStore) WithLock(ctx context.Context, work func(context.Context) error) error {
	return optional[history.ReceiverStore](s.t, s.Store).WithLock(ctx, work)
}
