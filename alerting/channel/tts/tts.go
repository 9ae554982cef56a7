package tts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/fault"
)

// maxText is about half a minute of speech.
const maxText = 400

// Options of a [Channel].
type Options struct {
	// Speaker is the program that makes audio. It must take the options of espeak-ng: --stdin, -w
	// FILE, -v VOICE and -s WORDS. Default espeak-ng.
	Speaker string
	// Player is the command that plays a WAV file, whose name is added as the last argument, such as
	// {"aplay", "-q"}. Required.
	Player []string
	Voice  string // such as de or en-us; default that of the speaker
	Speed  int    // words a minute, 80..450; default that of the speaker
	Dir    string // for files while they are played; default that of the system
}

// Channel speaks. A dispatcher never speaks two messages at the same time. Safe for concurrent use.
type Channel struct {
	o Options
}

// New returns a channel. If a program is missing, it returns an error.
func New(o Options) (*Channel, error) {
	o.Speaker = cmp.Or(o.Speaker, "espeak-ng")
	if len(o.Player) == 0 {
		return nil, fault.Option("tts", "Options.Player", "is required")
	}
	if _, err := exec.LookPath(o.Player[0]); err != nil {
		return nil, fault.Option("tts", "Options.Player", "cannot be run: %v", err)
	}
	if _, err := exec.LookPath(o.Speaker); err != nil {
		return nil, fault.Option("tts", "Options.Speaker", "cannot be run: %v", err)
	}
	if strings.HasPrefix(o.Voice, "-") {
		return nil, fault.Option("tts", "Options.Voice", "must not begin with -")
	}
	if o.Speed != 0 && (o.Speed < 80 || o.Speed > 450) {
		return nil, fault.Option("tts", "Options.Speed", "must be 80 to 450")
	}
	return &Channel{o}, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelTTS }

// Send implements alerting.Channel. It returns when the message has been played.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	dir, err := os.MkdirTemp(c.o.Dir, "otkit-tts-")
	if err != nil {
		return alerting.Retryable(errors.New("no directory can be made for the audio"), 0)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "message.wav")
	args := []string{"--stdin", "-w", file}
	if c.o.Voice != "" {
		args = append(args, "-v", c.o.Voice)
	}
	if c.o.Speed != 0 {
		args = append(args, "-s", strconv.Itoa(c.o.Speed))
	}
	if err := run(ctx, text(n), c.o.Speaker, args...); err != nil {
		return alerting.Retryable(fmt.Errorf("speaker failed: %w", err), 0)
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return alerting.Retryable(errors.New("speaker made no audio"), 0)
	}
	args = append(append([]string(nil), c.o.Player[1:]...), file)
	if err := run(ctx, "", c.o.Player[0], args...); err != nil {
		return alerting.Ambiguous(fmt.Errorf("player failed: %w", err)) // part of it may have been played
	}
	return nil
}

// text returns what is spoken: words, without marks that are meant for reading.
func text(n alerting.Notification) string {
	kind := n.Severity.String() + " alarm"
	switch {
	case n.Digest > 0:
		kind = "Attention"
	case n.Resolved:
		kind = "Resolved"
	}
	words := kind + ". " + n.Source + ". " + n.Message + "."
	words = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune("[]{}<>|_", r) { // espeak reads [[...]] as phonemes
			return ' '
		}
		return r
	}, words)
	return post.Cut(strings.Join(strings.Fields(words), " "), maxText) + "\n"
}

func run(ctx context.Context, input, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &limitedWriter{&said, 300}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && said.Len() > 0 {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(strings.ToValidUTF8(said.String(), "")), " "))
	}
	return err
}

// limitedWriter keeps the first bytes and discards the rest.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
