package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
)

const (
	defaultKeep = 10
	defaultSize = 256 << 20 // bytes
	maxMetadata = 4 << 20   // bytes
	maxReported = 1000      // problems that are remembered
	maxTries    = 10        // of a call whose versions are deleted while it reads
)

// Options of a [Registry]. Dir is required.
type Options struct {
	Dir     string       // created with mode 0700 if it is missing
	Keep    int          // undamaged versions of each type that Put leaves, see the package; the one that serves is never deleted. Default 10, negative: all
	MaxSize int          // bytes of a model; default 256 MiB
	Logger  *slog.Logger // default slog.Default
}

// Registry keeps models in a directory. Safe for concurrent use, by several processes too.
type Registry struct {
	opts Options
	turn chan struct{} // has a token while a call of this process writes

	mu       sync.Mutex
	highest  map[predictive.ModelType]int // versions that were seen: the directory may be removed meanwhile
	reported map[string]string            // problems that were logged, by the name of the model's file, empty for the directory
}

var (
	_ predictive.Registry  = (*Registry)(nil)
	_ predictive.Inspector = (*Registry)(nil)
)

// Open returns the registry in a directory. It holds nothing open and needs no Close. On a full disk, where the directory cannot be made, it
// is made by the first Put that there is space for.
func Open(o Options) (*Registry, error) {
	switch {
	case o.Dir == "":
		return nil, fault.Option("registry", "Options.Dir", "is required")
	case o.MaxSize < 0:
		return nil, fault.Option("registry", "Options.MaxSize", "must not be negative, not %d", o.MaxSize)
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	if o.MaxSize == 0 {
		o.MaxSize = defaultSize
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err = makeDir(o.Dir); err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(o.Dir); err == nil {
			err = root.Close()
		}
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return &Registry{opts: o, turn: make(chan struct{}, 1), highest: map[predictive.ModelType]int{}, reported: map[string]string{}}, nil
}
