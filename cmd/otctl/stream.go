package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

const (
	streamSilence = 45 * time.Second // three of the lines that keep a stream alive
	maxEvent      = 64 << 20         // bytes of one event; the first one has all tags
)

// errEnough ends a watch that was to end.
var errEnough = errors.New("enough was seen")

// follow keeps a stream of server-sent events open until ctx ends, and hands over the data of each event. When the connection is
// lost it tells so, connects again, and tells what may be missing.
func (c *cli) follow(ctx context.Context, missing func() string, open func(context.Context) (*http.Response, error), each func(data []byte) error) error {
	ctx = withSilence(ctx, streamSilence)
	var lost time.Time
	for failures := 0; ; {
		err := stream(ctx, open, func(answer *http.Response) error {
			if failures > 0 {
				c.note("otctl: connected again after %s; %s", time.Since(lost).Round(100*time.Millisecond), missing())
				failures = 0
			}
			return events(answer.Body, each)
		})
		var local *localError
		switch {
		case errors.Is(err, errEnough):
			return nil
		case errors.As(err, &local):
			return local.error
		case ctx.Err() != nil:
			return ctx.Err()
		case final(err):
			return err
		}
		if failures++; failures == 1 {
			lost = time.Now()
			c.note("otctl: connection lost at %s: %v; connecting again", lost.Format("15:04:05"), err)
		}
		if !backoff.Wait(ctx, backoff.Jitter(delayOf(err, failures))) {
			return ctx.Err()
		}
	}
}

// localError is one of this side, which no new connection mends.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// stream hands over an answer that is no error, and closes it.
func stream(ctx context.Context, open func(context.Context) (*http.Response, error), use func(*http.Response) error) error {
	r, err := open(ctx)
	if err := check(r, err); err != nil {
		return err
	}
	defer r.Body.Close()
	return use(r)
}

// final reports whether an error would come again: the engine refuses the call as it is.
func final(err error) bool {
	var (
		refused *apiError
		known   *failure
	)
	if errors.As(err, &known) {
		return true
	}
	return errors.As(err, &refused) && refused.exitCode() != exitFailed
}

// delayOf is the time until the next attempt.
func delayOf(err error, failures int) time.Duration {
	d := backoff.Delay(200*time.Millisecond, 15*time.Second, failures)
	var refused *apiError
	if errors.As(err, &refused) {
		if seconds, err := strconv.Atoi(refused.retryAfter); err == nil {
			d = max(d, time.Duration(min(seconds, 60))*time.Second)
		}
	}
	return d
}

// events reads server-sent events until the stream ends, which is an error.
func events(r io.Reader, each func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
			continue
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		if err := each(data); err != nil {
			return err
		}
		data = data[:0]
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return fmt.Errorf("the engine ended the stream: %w", io.EOF)
}
