package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/term"
)

// upload is a file that is sent.
type upload struct {
	path  string
	media string
	size  int64
	show  *progress
}

// newUpload opens a file to see that it is there, and how large.
func (c *cli) newUpload(path, media string) (*upload, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return &upload{path, media, info.Size(), c.progress("sending "+filepath.Base(path), info.Size())}, nil
}

func (u *upload) open() (io.ReadCloser, error) {
	f, err := os.Open(u.path)
	if err != nil {
		return nil, err
	}
	return &counted{f, u.show}, nil
}

// attach makes the file the body of a request.
func (u *upload) attach(r *http.Request) (err error) {
	r.Header.Set("Content-Type", u.media)
	r.ContentLength, r.GetBody = u.size, u.open
	r.Body, err = u.open()
	return err
}

// counted tells a progress of what is read.
type counted struct {
	io.ReadCloser
	show *progress
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.show.add(int64(n))
	return n, err
}

// save writes an answer to a file, which gets its name when it is whole; to the standard output for "-". A file that is there is
// replaced only if force is set.
func (c *cli) save(answer *http.Response, path string, force bool) (err error) {
	defer answer.Body.Close()
	if path == "-" {
		_, err := io.Copy(c.out, answer.Body)
		return err
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return failf(exitRefused, "%s exists; -force replaces it", path)
	}
	temp, err := os.OpenFile(fmt.Sprintf("%s.%d.part", path, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, temp.Close(), os.Remove(temp.Name()))
		}
	}()
	show := c.progress("receiving "+filepath.Base(path), answer.ContentLength)
	n, err := io.Copy(temp, &counted{answer.Body, show})
	show.end()
	if err != nil {
		return fmt.Errorf("the answer broke off after %d bytes: %w", n, err)
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		_ = os.Remove(temp.Name())
		return err
	}
	return os.Rename(temp.Name(), path)
}

// progress is a line on a terminal that tells how far something is; nothing elsewhere. Safe for concurrent use: a request is still being
// sent when it has been answered.
type progress struct {
	out   io.Writer // nil for none
	label string
	total int64 // 0 or less if it is not known

	mu   sync.Mutex
	done int64
	last time.Time
	over bool
}

func (c *cli) progress(label string, total int64) *progress {
	p := &progress{label: plain(label), total: total}
	if f, ok := c.errOut.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = f
	}
	return p
}

// add counts bytes.
func (p *progress) add(n int64) {
	p.mu.Lock()
	p.done += n
	done := p.done
	p.mu.Unlock()
	if p.total > 0 {
		p.draw(float64(done)/float64(p.total), bytesText(done)+" of "+bytesText(p.total))
	} else {
		p.draw(-1, bytesText(done))
	}
}

// draw draws the line anew, a few times a second. A share below 0 is not known.
func (p *progress) draw(share float64, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || p.over || time.Since(p.last) < 150*time.Millisecond {
		return
	}
	p.last = time.Now()
	bar := ""
	if share >= 0 {
		const columns = 24
		full := int(min(share, 1) * columns)
		bar = fmt.Sprintf("[%-*s] %3.0f%% ", columns, "########################"[:full], min(share, 1)*100)
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s %s%s", p.label, bar, plain(text))
}

// clock shows how much of a time has passed, until done is called.
func (p *progress) clock(whole time.Duration) (done func()) {
	if p.out == nil {
		return func() {}
	}
	stop, began := make(chan struct{}), time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(200 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				p.draw(float64(time.Since(began))/float64(whole), "")
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
		p.end()
	}
}

// end removes the line, and nothing is drawn any more.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.out != nil && !p.last.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.last = time.Time{}
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// pause waits between two looks at something that goes on, longer with each one.
func pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(min(20*time.Millisecond<<min(tries, 10), 500*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
