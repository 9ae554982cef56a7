package tagconfig

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// Options of a Store. Path or Repository is required.
type Options struct {
	// Path is of the model file; it and its folder need not exist. Empty for no file.
	Path string
	// Repository has the configuration, and the file follows it in both directions. Default: the file alone has it.
	Repository Repository
	// Initial is the path of a model file that is read once, when the Repository is empty and there is no Path.
	Initial string

	MaxItems int // most tags in the configuration; default 200,000

	// OnChange gets what has changed, in any order: by Open all items that there are, and each edit before the call that made
	// it returns. Calls come one after the other. It must not call methods that change the configuration.
	OnChange func(Edit)
	// OnFileEdit gets what a model file has changed that was edited, before OnChange. It must not block. Default: none.
	OnFileEdit func(FileEdit)

	PollInterval time.Duration // how often Watch looks at the file and the Repository by itself; default 2 s
	Debounce     time.Duration // how long Watch waits for an editor to finish; default 100 ms
	WriteDelay   time.Duration // how long Watch collects edits that are written behind; default 500 ms

	Logger *slog.Logger     // default slog.Default
	Now    func() time.Time // default time.Now
}

func (o *Options) complete() error {
	bad := func(field, rule string) error { return fmt.Errorf("tagconfig: Options.%s %s", field, rule) }
	switch {
	case o.Path == "" && o.Repository == nil:
		return bad("Path", "is required")
	case o.MaxItems < 0:
		return bad("MaxItems", "must not be negative")
	case o.PollInterval < 0:
		return bad("PollInterval", "must not be negative")
	case o.Debounce < 0:
		return bad("Debounce", "must not be negative")
	case o.WriteDelay < 0:
		return bad("WriteDelay", "must not be negative")
	}
	if o.Path != "" {
		path, err := filepath.Abs(o.Path)
		if err != nil {
			return bad("Path", err.Error())
		}
		o.Path = path
	}
	if o.MaxItems == 0 {
		o.MaxItems = 200_000
	}
	if o.PollInterval == 0 {
		o.PollInterval = 2 * time.Second
	}
	if o.Debounce == 0 {
		o.Debounce = 100 * time.Millisecond
	}
	if o.WriteDelay == 0 {
		o.WriteDelay = 500 * time.Millisecond
	}
	if o.OnChange == nil {
		o.OnChange = func(Edit) {}
	}
	if o.OnFileEdit == nil {
		o.OnFileEdit = func(FileEdit) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}
