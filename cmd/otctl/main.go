// Command otctl uses an engine from the command line.
//
//	otctl login [-server URL] [-user NAME]
//	otctl tags list|get|set|outcome|watch|history|export ...
//	otctl alarms list|ack|shelve|unshelve|watch ...
//	otctl alerts|silences|aas|bridges|drivers|devices|predict|config ...
//	otctl completion bash|zsh|fish
//
// "otctl help" lists the commands; docs/otctl.md describes them and the exit codes.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/otkit/otkit/internal/program"
)

// Exit codes, as docs/otctl.md has them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitForbidden   = 3
	exitNotFound    = 4
	exitRefused     = 5
	exitUnknown     = 6
	exitInterrupted = 130
)

func main() {
	// A pipe that nobody reads must not end the program before its exit code tells what became of a write.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := program.UntilSignal(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	buffer := newOutput(out)
	c := &cli{in: in, out: buffer, errOut: errOut}
	err := c.dispatch(ctx, args)
	if failed := buffer.Flush(); failed != nil && err == nil {
		err = failed
	}
	return c.exitCode(ctx, err)
}

// cli is what the commands share.
type cli struct {
	in     io.Reader
	out    *bufio.Writer
	errOut io.Writer

	server, output, caFile string // flags that every command has
	opened                 *connection
}

// output is the standard output. Its errors are told from those of connections.
type output struct{ to io.Writer }

type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

func newOutput(to io.Writer) *bufio.Writer { return bufio.NewWriterSize(output{to}, 64<<10) }

func (o output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

// failure is an error with an exit code of its own.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failf(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error { return failf(exitUsage, format, args...) }

// exitCode prints an error and returns what the program ends with.
func (c *cli) exitCode(ctx context.Context, err error) int {
	var (
		f       *failure
		refused *apiError
		unread  *outputError
	)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errPrinted):
		return exitUsage
	case errors.As(err, &f):
		c.complain(err)
		return f.code
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &refused):
		c.complain(err)
		return refused.exitCode()
	case errors.As(err, &unread) && errors.Is(unread, syscall.EPIPE): // who reads the output has seen enough
		return 0
	}
	c.complain(err)
	return exitFailed
}

// complain prints one line to the standard error.
func (c *cli) complain(err error) { c.note("otctl: %s", program.OneLine(err)) }

// note prints one line that is no output, such as that a connection was lost.
func (c *cli) note(format string, args ...any) {
	_ = c.out.Flush() // what it is about goes first
	fmt.Fprintln(c.errOut, plain(fmt.Sprintf(format, args...)))
}
