package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/dashboard"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/signalr"
)

// board pushes alarms to the browsers that listen to a hub.
type board struct{ hub *signalr.Hub }

// ReceiveAlarm implements dashboard.Broadcaster.
func (b board) ReceiveAlarm(message, severity, timestamp string) error {
	return b.hub.Broadcast("ReceiveAlarm", message, severity, timestamp)
}

// openDashboard gives the channel that tells the browsers: those of this engine, or of all that share
// the stores.
func (r *alarmRoom) openDashboard(ctx context.Context, o Options) (alerting.Channel, error) {
	own, err := dashboard.New(board{r.hub})
	if err != nil || o.Stores.Shared == nil {
		return own, err
	}
	r.shared = &sharedDashboard{own: own, board: o.Stores.Shared.Board, every: o.Stores.Shared.Poll, now: o.Now, log: o.Logger, wake: make(chan struct{}, 1)}
	if r.shared.last, err = r.shared.board.LastPost(ctx); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return r.shared, nil
}

// sharedDashboard is the dashboard channel where engines share the stores. One engine claims a message
// and posts it; each one, that one too, pushes what is posted to its own browsers.
type sharedDashboard struct {
	own   alerting.Channel
	board alerting.Board
	every time.Duration
	now   func() time.Time
	log   *slog.Logger
	wake  chan struct{} // holds one token when this engine has posted

	last int64 // number of the last post that was pushed
}

// Name implements alerting.Channel.
func (c *sharedDashboard) Name() string { return c.own.Name() }

// TakesKey implements alerting.Idempotent: a message is posted once.
func (c *sharedDashboard) TakesKey() bool { return true }

// Send implements alerting.Channel.
func (c *sharedDashboard) Send(ctx context.Context, n alerting.Notification) error {
	if err := c.board.Post(ctx, n); err != nil {
		return alerting.Ambiguous(err)
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

const (
	postsAtOnce = 500
	// keepPosts is longer than a dispatcher may try to send a message, which so is never posted twice.
	keepPosts = 48 * time.Hour
)

// follow pushes what is posted to the browsers of this engine, until ctx ends.
func (c *sharedDashboard) follow(ctx context.Context) {
	failing := false
	trimmed := c.now()
	for {
		n, err := c.push(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			c.log.Error("alarms cannot be told to browsers", "error", err)
		case err == nil && failing:
			c.log.Info("alarms are told to browsers again")
		}
		failing = err != nil
		if n == postsAtOnce {
			continue
		}
		if now := c.now(); now.Sub(trimmed) > trimEvery {
			trimmed = now
			if err := c.board.TrimPosts(ctx, now.Add(-keepPosts)); err != nil && ctx.Err() == nil {
				c.log.Error("old messages to browsers cannot be removed", "error", err)
			}
		}
		timer := time.NewTimer(c.every)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.wake:
		}
		timer.Stop()
	}
}

func (c *sharedDashboard) push(ctx context.Context) (int, error) {
	posts, err := c.board.Posts(ctx, c.last, postsAtOnce)
	if err != nil {
		return 0, err
	}
	for i := range posts {
		if err := c.own.Send(ctx, posts[i].Notification); err != nil {
			return 0, err
		}
		c.last = posts[i].Seq
	}
	return len(posts), nil
}

// startSharing keeps up with the engines that share the stores, while the server runs.
func (s *Server) startSharing() {
	if s.room.shared == nil {
		return
	}
	s.wg.Go(func() { s.room.shared.follow(s.stopping) })
	s.wg.Go(func() {
		s.repeat(auth.PublishEvery, "signing keys cannot be published; other engines may refuse the tokens of this one", s.keys.Publish)
	})
}
