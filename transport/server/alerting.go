package server

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
)

// engineFile holds the engine's name among those that share a database.
const engineFile = "engine.id"

// engineName gives a name that stays the same when the engine starts again. The host is part of it, so
// that a copied data directory does not make two engines pass for one.
func engineName(dataDir string) (string, error) {
	path := filepath.Join(dataDir, engineFile)
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

// tellDead raises an alarm while a channel has messages that it could not tell. When one is added after
// somebody has acknowledged the alarm, it is ended and raised anew.
func (r *alarmRoom) tellDead(ctx context.Context, channel string, dead alerting.DeadCount) error {
	key := alerting.DeadLetterKey(channel)
	signals := []alarms.Signal{{Key: key}}
	if dead.Dead > 0 {
		raise := alarms.Signal{Key: key, Raise: &alarms.Alarm{
			Key: key, Source: "alerting", SourceType: "Equipment", Severity: alarms.Warning,
			Message: fmt.Sprintf("Messages of the channel %s could not be delivered (%d so far): see /api/v1/alerting/deadletters?channel=%[1]s", channel, dead.Dead),
		}}
		c, err := r.service.Condition(ctx, alarms.ByKey(key))
		switch {
		case err != nil && !errors.Is(err, alarms.ErrAlarmNotFound):
			return err
		case err == nil && c.Last != nil && c.Last.Acknowledged() && dead.Newest.After(c.Last.AcknowledgedAt):
			signals = append(signals, raise)
		default:
			signals[0] = raise
		}
	}
	_, err := r.service.Apply(ctx, signals)
	return err
}
