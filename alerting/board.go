package alerting

import (
	"context"
	"time"
)

// Board passes on what one engine sends to its listeners to those of all engines that share a database.
// Safe for concurrent use, by several processes too.
type Board interface {
	// Post adds a notification. One whose ID is there already changes nothing. When it returns, the post
	// is seen by everybody, and it is durable once any later write to the same database is.
	Post(ctx context.Context, n Notification) error
	// Posts gives at most limit posts with a number above after, in ascending order. A post never
	// becomes visible after one with a higher number has.
	Posts(ctx context.Context, after int64, limit int) ([]Post, error)
	// LastPost gives the number of the newest post; 0 when there is none.
	LastPost(ctx context.Context) (int64, error)
	// TrimPosts removes posts that were added before the given time.
	TrimPosts(ctx context.Context, before time.Time) error
}

// Post is one entry of a [Board].
type Post struct {
	Seq          int64 // from 1, ascending
	Notification Notification
}
