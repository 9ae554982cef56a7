package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/predictive"
)

// Get implements [predictive.Registry]. It verifies what it returns each time.
func (r *Registry) Get(ctx context.Context, t predictive.ModelType, version int) (m predictive.Meta, model []byte, err error) {
	err = r.look(ctx, t, version, func(v *view) error {
		asked := version
		if asked == 0 {
			asked = v.serving()
		}
		switch {
		case asked == 0 && len(v.list.versions) > 0:
			return predictive.ErrModelNotAvailable.Because("every version of %s is damaged", t)
		case asked == 0:
			return predictive.ErrModelNotFound.On("model", string(t))
		case !slices.Contains(v.list.versions, asked):
			return notFound(t, asked)
		}
		if m, model, err = v.load(asked); err != nil {
			return predictive.ErrModelNotAvailable.Because("%s %s is damaged", t, predictive.FormatVersion(asked)).Wrap(err)
		}
		return nil
	})
	if err != nil {
		return predictive.Meta{}, nil, err
	}
	return m, model, nil
}

func notFound(t predictive.ModelType, version int) error {
	return predictive.ErrModelNotFound.On("model", string(t)+" "+predictive.FormatVersion(version))
}

// List implements [predictive.Registry].
func (r *Registry) List(ctx context.Context, t predictive.ModelType) (all []predictive.Meta, err error) {
	err = r.look(ctx, t, 0, func(v *view) error {
		all = make([]predictive.Meta, 0, len(v.list.versions))
		for _, version := range v.list.versions {
			if m, _, err := v.load(version); err == nil {
				all = append(all, m)
			}
		}
		return nil
	})
	return all, err
}

// Damaged implements [predictive.Inspector].
func (r *Registry) Damaged(ctx context.Context, t predictive.ModelType) (all []predictive.Damage, err error) {
	err = r.look(ctx, t, 0, func(v *view) error {
		all = nil
		for _, version := range v.list.versions {
			if _, _, err := v.load(version); err != nil {
				all = append(all, predictive.Damage{ModelType: t, Version: version, Problem: err.Error()})
			}
		}
		return nil
	})
	return all, err
}

// look calls read with a view of the directory, and again if a version that it read was deleted meanwhile: what came instead is then in
// the next view.
func (r *Registry) look(ctx context.Context, t predictive.ModelType, version int, read func(*view) error) error {
	if err := check(t, version); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		again, err := r.lookOnce(ctx, t, read)
		if !again || tries == maxTries {
			return err
		}
	}
}

func (r *Registry) lookOnce(ctx context.Context, t predictive.ModelType, read func(*view) error) (again bool, err error) {
	root, err := os.OpenRoot(r.opts.Dir)
	if r.changed("", err) {
		r.opts.Logger.Error("failed to open the model directory", "error", err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, read(&view{list: &listing{kind: t}})
	case err != nil:
		return false, fmt.Errorf("registry: %w", err)
	}
	defer func() { _ = root.Close() }()
	l, err := list(root, t)
	if err != nil {
		return false, fmt.Errorf("registry: %w", err)
	}
	// A listing while files come and go may miss both the old version and the new one.
	highest := r.see(t, l.highest())
	v := &view{r: r, ctx: ctx, root: root, list: l, gone: highest > 0 && len(l.versions) == 0}
	err = read(v)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return v.gone, err
}

// view is the directory as one call sees it. Files of a version do not change while it exists.
type view struct {
	r    *Registry
	ctx  context.Context
	root *os.Root
	list *listing
	gone bool // a version was deleted meanwhile

	version int // that was loaded last
	meta    predictive.Meta
	model   []byte
	err     error
}

// serving returns the version that serves by default, 0 for none.
func (v *view) serving() int {
	for _, chosen := range []bool{true, false} {
		for _, version := range v.list.versions {
			if m, err := v.metadata(version); err != nil || m.Default != chosen {
				continue
			}
			if _, _, err := v.load(version); err == nil {
				return version
			}
		}
	}
	return 0
}

// metadata returns the metadata of a version.
func (v *view) metadata(version int) (predictive.Meta, error) {
	data, err := read(v.root, modelFile(v.list.kind, version)+metaSuffix, maxMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		v.gone = true
		return predictive.Meta{}, err
	}
	var m predictive.Meta
	if err == nil {
		m, err = decode(data, v.list.kind, version)
	}
	if err != nil {
		err = fmt.Errorf("metadata: %w", err)
		v.r.report(v.list.kind, version, err)
	}
	return m, err
}

// load returns a version that is whole.
func (v *view) load(version int) (predictive.Meta, []byte, error) {
	if version == v.version {
		return v.meta, v.model, v.err
	}
	v.version, v.model, v.err = version, nil, v.ctx.Err()
	if v.err != nil {
		return v.meta, nil, v.err
	}
	if v.meta, v.err = v.metadata(version); v.err != nil {
		return v.meta, nil, v.err
	}
	name := modelFile(v.list.kind, version)
	model, err := read(v.root, name, v.r.opts.MaxSize)
	switch {
	case err != nil:
	case len(model) != v.meta.Size:
		err = fmt.Errorf("has %d bytes, and not %d", len(model), v.meta.Size)
	case digest(model) != v.meta.SHA256:
		err = errors.New("does not have the SHA-256 of its metadata")
	default:
		v.model = model
	}
	if err == nil {
		v.r.report(v.list.kind, version, nil)
		return v.meta, v.model, nil
	}
	v.err = fmt.Errorf("model: %w", err)
	if _, there := v.root.Lstat(name + metaSuffix); errors.Is(there, fs.ErrNotExist) {
		v.gone = true
	} else {
		v.r.report(v.list.kind, version, v.err)
	}
	return v.meta, nil, v.err
}

// report logs a problem of a version unless it was logged before.
func (r *Registry) report(t predictive.ModelType, version int, problem error) {
	if name := modelFile(t, version); r.changed(name, problem) {
		r.opts.Logger.Error("model is damaged and not used", "file", name, "error", problem)
	}
}

// changed reports whether there is a problem that was not there before.
func (r *Registry) changed(name string, problem error) bool {
	text := ""
	if problem != nil {
		text = runes.Shorten(problem.Error(), 500)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.reported[name]
	if text == "" {
		delete(r.reported, name)
	} else if len(r.reported) < maxReported {
		r.reported[name] = text
	}
	return text != "" && text != known
}
