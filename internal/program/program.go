// Package program has what the commands have in common.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// ErrUsage is the error of a call that names no command; its usage was printed.
var ErrUsage = errors.New("usage")

// coded is an error with an exit code of its own.
type coded struct {
	error
	code int
}

func (c *coded) Unwrap() error { return c.error }

// WithCode returns an error with which a program ends with an exit code of its own.
func WithCode(code int, err error) error { return &coded{err, code} }

// ExitCode returns what a program ends with, and prints the error that it ends with: 0 also for help that was asked for, and 1 for an error without a
// code of its own.
func ExitCode(name string, err error, errOut io.Writer) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		return 2
	}
	fmt.Fprintf(errOut, "%s: %s\n", name, OneLine(err))
	if c := (*coded)(nil); errors.As(err, &c) {
		return c.code
	}
	return 1
}

// UseLog has log write what packages print to the standard log, at level Debug: mDNS warns there of each interface.
func UseLog(log *slog.Logger) {
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
}

// OneLine returns the text of an error as one line. Joined errors and those of the PostgreSQL driver have several.
func OneLine(err error) string {
	return strings.NewReplacer("\n\t", " ", "\n", "; ").Replace(err.Error())
}

// Reachable returns a listening address as a browser on this machine takes it.
func Reachable(a net.Addr) string {
	addr := a.String()
	if host, port, found := strings.Cut(addr, "]:"); found && (host == "[::" || host == "[::1") {
		return "localhost:" + port
	}
	return addr
}

// OnHangup calls reload at each SIGHUP, which does not end the process any more, until stop is called.
func OnHangup(reload func()) (stop func()) {
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-hangups:
				reload()
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		close(done)
		wg.Wait()
	}
}

// UntilSignal returns a context that the first SIGINT or SIGTERM ends. The second one ends the process.
func UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(1)
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		cancel()
	}
}
