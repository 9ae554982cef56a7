package fanout

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/alerting"
)

// remembered is the number of messages of which is known who has them.
const remembered = 1000

// Sender remembers who has got which message, so that a repeat goes to the others only. What it knows
// ends with the process. Safe for concurrent use.
type Sender struct {
	mu    sync.Mutex
	done  map[string]map[string]bool // by message, by recipient
	order []string                   // of messages, the oldest first
}

// Each calls send for every recipient who has not got the message. Its error has the class of what is
// most worth a repeat: ambiguous, else retryable, else permanent; and names recipients by their place,
// since their addresses may be secrets.
func (s *Sender) Each(message string, recipients []string, send func(recipient string) error) error {
	var (
		failed []error
		worst  = alerting.OutcomePermanent
		after  time.Duration
	)
	for i, r := range recipients {
		if s.has(message, r) {
			continue
		}
		err := send(r)
		if err == nil {
			s.add(message, r)
			continue
		}
		var e *alerting.SendError
		if !errors.As(err, &e) {
			e = &alerting.SendError{Err: err}
		}
		worst, after = min(worst, e.Outcome), max(after, e.After)
		if len(recipients) > 1 {
			err = fmt.Errorf("recipient %d: %w", i+1, err)
		}
		failed = append(failed, err)
	}
	if len(failed) == 0 {
		return nil
	}
	return &alerting.SendError{Outcome: worst, After: after, Err: errors.Join(failed...)}
}

func (s *Sender) has(message, recipient string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[message][recipient]
}

func (s *Sender) add(message, recipient string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(map[string]map[string]bool)
	}
	if s.done[message] == nil {
		s.done[message] = make(map[string]bool)
		if s.order = append(s.order, message); len(s.order) > remembered {
			delete(s.done, s.order[0])
			s.order = s.order[1:]
		}
	}
	s.done[message][recipient] = true
}
