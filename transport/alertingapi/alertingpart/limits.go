package alertingpart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// EngineFile is the name of the file in a data directory with the engine's name among those that share a database. It is there once the engine has run.
const EngineFile = "engine.id"

// EngineName returns a name that stays the same when the engine starts again. The host is part of it, so
// that a copied data directory does not make two engines pass for one.
func EngineName(dataDir string) (string, error) {
	path := filepath.Join(dataDir, EngineFile)
	text, err := os.ReadFile(path)
	id := strings.TrimSpace(string(text))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("alerting: %w", err)
	}
	if uuid.Validate(id) != nil {
		id = uuid.NewString()
		if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
			return "", fmt.Errorf("alerting: %w", err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // the id alone will do
	}
	return id + "@" + host, nil
}

// digestLink returns where the messages of a digest are listed; nil if the outbox cannot do that.
func (o *Options) digestLink() func(alerting.DigestContent) string {
	if _, ok := o.Outbox.(outbox.DigestReader); !ok {
		return nil
	}
	return func(c alerting.DigestContent) string { return "/api/v1.0/alert-history/digests/" + c.ID }
}

// silencesFull raises an alarm when no more silences can be made without a token.
func (p *Alerting) silencesFull(ctx context.Context) {
	// The caller gets an error anyway, so after a failure here the next attempt is enough.
	_, _ = p.alarms.Service().Raise(ctx, alarms.Alarm{Key: silences.FullKey, Source: "alerting", SourceType: "Equipment", Severity: alarms.Warning,
		Message: "Silences without a token are refused: there are too many (alerting.maxSilences). See /api/v1.0/alert-silence."})
}

// maintain clears the alarms about limits of the intake that are over.
func (p *Alerting) maintain(ctx context.Context) error {
	var errs []error
	if p.webhook != nil {
		errs = append(errs, p.webhook.Maintain(ctx))
	}
	_, room, err := p.silences.Summary(ctx)
	if err == nil && room {
		_, err = p.alarms.Service().Apply(ctx, []alarms.Signal{{Key: silences.FullKey}})
	}
	return errors.Join(append(errs, err)...)
}

// alarmDeadLetters raises an alarm while a channel has dead letters. When one is added after somebody has acknowledged the alarm, the
// alarm is ended and raised again.
func (p *Alerting) alarmDeadLetters(ctx context.Context, channel string, dead outbox.DeadLetterCount) error {
	key := dispatch.DeadLetterKey(channel)
	signals := []alarms.Signal{{Key: key}}
	if dead.Count > 0 {
		raise := alarms.Signal{Key: key, Raise: &alarms.Alarm{
			Key: key, Source: "alerting", SourceType: "Equipment", Severity: alarms.Warning,
			Message: fmt.Sprintf("Messages of the channel %s could not be delivered (%d so far): see /api/v1/alerting/deadletters?channel=%[1]s", channel, dead.Count),
		}}
		c, err := p.alarms.Service().Condition(ctx, alarms.ByKey(key))
		switch {
		case err != nil && !errors.Is(err, alarms.ErrAlarmNotFound):
			return err
		case err == nil && c.Last != nil && c.Last.Acknowledged() && dead.Newest.After(c.Last.AcknowledgedAt):
			signals[0].NotAfter = c.Last.RaisedAt // another engine may have done the same
			signals = append(signals, raise)
		default:
			signals[0] = raise
		}
	}
	_, err := p.alarms.Service().Apply(ctx, signals)
	return err
}
