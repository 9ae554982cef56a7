package serverconfig

import (
	"io"
	"log/slog"

	"github.com/otkit/otkit/internal/logging"
)

// Log is the log of a server.
type Log struct {
	Level    string `key:"level" default:"info" rule:"debug|info|warn|error" doc:"Lowest level that is logged. SIGHUP applies a change."`
	Format   string `key:"format" default:"text" rule:"text|json" doc:"Form of a line."`
	Requests bool   `key:"requests" default:"true" doc:"One line for each HTTP request and gRPC call."`
}

// SlogLevel returns the level.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // validated
	return level
}

// New returns the log. It sets level, through which the level can be changed; nil is fine.
func (l Log) New(out io.Writer, level *slog.LevelVar) *slog.Logger {
	if level == nil {
		level = new(slog.LevelVar)
	}
	level.Set(l.SlogLevel())
	return logging.New(out, logging.Options{Level: level, JSON: l.Format == "json"})
}
