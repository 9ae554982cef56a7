package main

import (
	"context"
	"io"
	"os"
	"reflect"

	"github.com/otkit/otkit/internal/program"
)

// reloadOn applies what a running engine can apply at each SIGHUP: the level of the log and the files of the certificate. The returned
// function ends that and waits.
func (e *engine) reloadOn(ctx context.Context, hangups <-chan os.Signal) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				e.reload()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (e *engine) reload() {
	now := &e.settings
	fresh, err := e.command.settings(io.Discard)
	if err != nil {
		e.log.Error("failed to reload settings; the previous ones stay effective", "error", program.OneLine(err))
	} else {
		e.level.Set(fresh.Log.SlogLevel())
		now.Log.Level = fresh.Log.Level
		if !reflect.DeepEqual(*now, fresh) {
			e.log.Warn("settings other than log.level have changed; they take effect at the next start")
		}
	}
	if e.parts.Certificates != nil {
		_ = e.parts.Certificates.Reload() // it logs
	}
	e.log.Info("reloaded", "logLevel", now.Log.Level)
}
