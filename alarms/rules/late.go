package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/alarms"
)

const (
	maxLate      = 64     // pending occurrences of a rule that are over, beyond those being stored
	maxLateQueue = 10_000 // of all rules, beyond which each rule has one
)

// queueLate queues an occurrence that is over. While too many are pending, it becomes a part of the one before. The lock
// is held.
func (r *Service) queueLate(rule string, a *alarms.Alarm, ended time.Time) {
	r.stats.Late++
	if ended.Before(a.At) {
		ended = a.At
	}
	b, room := r.lateBacklog(rule), maxLate
	if r.lateQueued >= maxLateQueue {
		room = 1
	}
	if last := len(b.pending) - 1; len(b.pending)-b.inFlight >= room {
		before := &transitionOf(b.pending[last]).signal
		before.Ended, before.Raise = ended, withID(before.Raise, lateID(rule, ended))
		if r.stats.Coalesced == 0 {
			r.note(slog.LevelWarn, "alarm transitions coalesced: too many are pending", "ruleId", rule)
		}
		r.stats.Coalesced += 2
		r.serial++
		return
	}
	r.queueLateSignal(rule, alarms.Signal{Raise: withID(a, lateID(rule, ended)), Ended: ended})
}

// withID returns a copy of an alarm: that of a signal may be shown and kept meanwhile.
func withID(a *alarms.Alarm, id string) *alarms.Alarm {
	other := *a
	other.ID = id
	return &other
}

// queueLateSignal appends the signal of an occurrence that is over to the queue. The lock is held.
func (r *Service) queueLateSignal(rule string, s alarms.Signal) {
	r.enqueue(r.lateBacklog(rule), s, adoption{})
	r.lateQueued++
	r.serial++
}

func (r *Service) lateBacklog(rule string) *backlog {
	b := r.lateBacklogs[rule]
	if b == nil {
		b = &backlog{rule: rule, late: true}
		r.lateBacklogs[rule] = b
	}
	return b
}

// lateID returns the ID of an occurrence, a UUIDv7 of the time at which it ended. It depends on nothing else than the rule
// and that time, which is the same when samples are delivered again: a replay that begins in the middle of the
// occurrence finds another begin, but the same end.
func lateID(rule string, ended time.Time) string {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(rule+"\x00"), uint64(ended.UnixMicro())))
	var id uuid.UUID
	copy(id[:], sum[:])
	ms := uint64(max(ended.UnixMilli(), 0))
	binary.BigEndian.PutUint32(id[:4], uint32(ms>>16))
	binary.BigEndian.PutUint16(id[4:6], uint16(ms))
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}
