package audit

import (
	"context"
	"encoding/json"
	"time"
)

const (
	// System is the actor of what the process does by itself.
	System = "system"
	// TrimAction is the action of the entries about retention.
	TrimAction = "trimAudit"
	// maxCut is how many entries are removed in one transaction.
	maxCut = 10_000
)

// Notice is the member After of an entry with TrimAction.
type Notice struct {
	Removed int64  `json:"removed"` // entries
	LastSeq int64  `json:"lastSeq"` // number of the last of them
	Hash    string `json:"hash"`    // and its hash
}

// maintain applies retention, logs the head of the chain, and records floods.
func (l *Log) maintain(ctx context.Context) {
	minute, trim := time.NewTicker(time.Minute), time.NewTicker(l.opts.TrimInterval)
	defer minute.Stop()
	defer trim.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-minute.C:
			l.recordFlood()
		case <-trim.C:
			if _, err := l.Trim(ctx); err != nil && ctx.Err() == nil {
				l.opts.Logger.Error("failed to trim the audit log", "error", err)
			}
			if head, err := l.Head(ctx); err == nil {
				l.opts.Logger.Info("audit log head", "seq", head.Seq, "hash", head.Hash.String())
			}
		}
	}
}

// Trim removes the entries that exceed Options.MaxAge or Options.MaxEntries, and returns how many. The log calls it every
// Options.TrimInterval.
func (l *Log) Trim(ctx context.Context) (int64, error) {
	cut := Cut{Max: maxCut, Keep: max(0, l.opts.MaxEntries)}
	if l.opts.MaxAge > 0 {
		cut.Before = l.opts.Now().Add(-l.opts.MaxAge)
	}
	anchor, head, err := l.store.Ends(ctx)
	if err != nil {
		return 0, err
	}
	if head.Seq-anchor.Seq <= cut.Keep+1 { // one more is the notice of the last removal, which must not lead to the next
		cut.Keep = 0
	}
	var total int64
	for {
		n, err := l.store.Trim(ctx, cut, l.notice)
		total += n
		if err != nil || n < cut.Max {
			return total, err
		}
	}
}

func (l *Log) notice(removed int64, anchor Link) Entry {
	text, _ := json.Marshal(Notice{removed, anchor.Seq, anchor.Hash.String()}) // cannot fail: numbers and a string
	return Entry{Time: l.opts.Now(), Act: Act{Actor: System, Via: "internal", Action: TrimAction, After: string(text)},
		Result: Result{Outcome: Succeeded}}
}
