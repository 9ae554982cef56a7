package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// logger writes the log of the server.
type logger struct {
	log   *slog.Logger
	fatal chan<- error // the first reason why the server cannot work
}

// Noticef writes what happens.
func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("embedded NATS", "message", fmt.Sprintf(format, v...))
}

// Warnf writes what somebody should look at.
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("embedded NATS", "message", fmt.Sprintf(format, v...))
}

// Errorf writes what somebody should look at.
func (l logger) Errorf(format string, v ...any) { l.Warnf(format, v...) }

func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}

// Fatalf leaves it to Start to end: the process is not that of the server.
func (l logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, ":"+strconv.Itoa(noPort)) {
		return // there is no listener for clients
	}
	select {
	case l.fatal <- errors.New("nats: " + text):
	default:
	}
}
