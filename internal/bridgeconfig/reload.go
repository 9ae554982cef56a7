package bridgeconfig

import (
	"log/slog"
	"os"
	"reflect"

	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/transport/oneport"
)

// Reload reads the settings again and applies what a running bridge can apply: the level of the log and the files of the certificate, nil
// without TLS. b has the settings in force.
func (b *Bridge) Reload(files []string, flags map[string]any, level *slog.LevelVar, certificates *oneport.CertificateFiles, log *slog.Logger) {
	b.reloadSettings(files, flags, level, log)
	if certificates != nil {
		_ = certificates.Reload() // it logs
	}
	log.Info("reloaded", "logLevel", b.Log.Level)
}

func (b *Bridge) reloadSettings(files []string, flags map[string]any, level *slog.LevelVar, log *slog.Logger) {
	fresh, problems, _, err := Read(files, os.Environ(), flags, nil)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		log.Error("failed to reload settings; the previous ones stay effective", "error", program.OneLine(err))
		return
	}
	level.Set(fresh.Log.SlogLevel())
	b.Log.Level = fresh.Log.Level
	if !reflect.DeepEqual(*b, fresh) {
		log.Warn("settings other than log.level have changed; they take effect at the next start")
	}
}
