package tagconfigapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

const (
	turnPatience = 10 * time.Second // how long a caller waits for its turn
	keptFor      = time.Hour        // how long the state of an import is kept after its end
	mostKept     = 20
)

var (
	errRunning  = fault.New(fault.Conflict, "IMPORT_RUNNING", "another import of the tag configuration is running")
	errNoImport = fault.New(fault.NotFound, "IMPORT_NOT_FOUND", "the import is not known")
)

// phase is what an import is doing, or what has become of it.
type phase string

const (
	waiting   phase = "waiting"
	reading   phase = "reading"
	comparing phase = "comparing"
	applying  phase = "applying"
	done      phase = "done"
	failed    phase = "failed"
	canceled  phase = "canceled"
)

// state is the schema TagImport of the OpenAPI document.
type state struct {
	ID        string       `json:"id"`
	Phase     phase        `json:"phase"`
	Format    string       `json:"format"`
	DryRun    bool         `json:"dryRun"`
	Mode      string       `json:"mode"`
	Rows      int64        `json:"rows"`
	StartedAt time.Time    `json:"startedAt"`
	EndedAt   *time.Time   `json:"endedAt,omitempty"`
	Result    *counts      `json:"result,omitempty"`
	Error     *importError `json:"error,omitempty"`
}

// counts is the schema TagImportResult.
type counts struct {
	Count     int `json:"count"`
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
	warnings
}

// importError is the schema TagImportError.
type importError struct {
	Code   string        `json:"code"`
	Detail string        `json:"detail"`
	Errors []fault.Field `json:"errors,omitempty"`
}

// job is one import.
type job struct {
	order  order
	file   *os.File
	ctx    context.Context // of the caller, without its end
	cancel context.CancelFunc
	rows   atomic.Int64

	mu    sync.Mutex
	state state
}

func (j *job) enter(p phase) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Phase = p
}

func (j *job) now() state {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.state
	s.Rows = j.rows.Load()
	return s
}

// imports runs one import at a time, because each has a whole configuration in memory.
type imports struct {
	turn  chan struct{}
	queue chan *job // has room for the one whose turn it is

	mu   sync.Mutex
	list []*job // newest last
}

func newImports() *imports {
	return &imports{turn: make(chan struct{}, 1), queue: make(chan *job, 1)}
}

// now runs an import that its caller waits for.
func (i *imports) now(ctx context.Context, run func(context.Context) (outcome, error)) (outcome, error) {
	late := time.NewTimer(turnPatience)
	defer late.Stop()
	select {
	case i.turn <- struct{}{}:
	case <-late.C:
		return outcome{}, errRunning
	case <-ctx.Done():
		return outcome{}, problem.ErrCanceled.Wrap(ctx.Err())
	}
	defer func() { <-i.turn }()
	return run(ctx)
}

func (i *imports) add(j *job, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.trim(now)
	i.list = append(i.list, j)
	i.list = i.list[max(0, len(i.list)-mostKept):]
}

// trim forgets what is too old. The caller holds mu.
func (i *imports) trim(now time.Time) {
	i.list = slices.DeleteFunc(i.list, func(j *job) bool {
		ended := j.now().EndedAt
		return ended != nil && now.Sub(*ended) > keptFor
	})
}

func (i *imports) get(id string, now time.Time) (*job, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.trim(now)
	at := slices.IndexFunc(i.list, func(j *job) bool { return j.state.ID == id })
	if at < 0 {
		return nil, errNoImport
	}
	return i.list[at], nil
}

// begin takes an import that is carried out after the answer.
func (a *API) begin(w http.ResponseWriter, r *http.Request, o order) {
	select {
	case a.imports.turn <- struct{}{}:
	default:
		w.Header().Set("Retry-After", "2")
		restapi.Error(w, r, errRunning)
		return
	}
	file, err := a.keep(r.Body)
	if err != nil {
		<-a.imports.turn
		restapi.Error(w, r, err)
		return
	}
	mode := "upsert"
	if o.replace {
		mode = "replace"
	}
	j := &job{order: o, file: file, state: state{ID: uuid.NewString(), Phase: waiting, Format: string(o.format), DryRun: o.dryRun, Mode: mode, StartedAt: a.opts.Now().UTC()}}
	j.ctx, j.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	a.imports.add(j, a.opts.Now())
	w.Header().Set("Location", importsPath+"/"+j.state.ID)
	answerWith(w, r, http.StatusAccepted, j.now())
	a.imports.queue <- j // there is room
}

// keep copies a file to the disk, for as long as it takes to import it.
func (a *API) keep(body io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", keptFiles)
	if err != nil {
		return nil, notKept(err)
	}
	_ = os.Remove(file.Name()) // it lives until it is closed, so that nothing is left of it by a kill; on Windows, discard removes it
	n, err := io.Copy(file, body)
	if err == nil && n == 0 {
		err = tagconfig.ErrEmpty
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(file)
		return nil, notKept(err)
	}
	return file, nil
}

func notKept(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return problem.FromDecode(tooLarge)
	case errors.Is(err, syscall.ENOSPC):
		return tagconfig.ErrFull.Wrap(err)
	}
	return problem.FromDecode(err)
}

func discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

// keptFiles is the pattern of the names of files that are kept.
const keptFiles = "otkit-import-*"

// removeLeft removes what an engine that was killed has left. That of one that runs is open, which Windows does not remove, or has no name.
func removeLeft() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), keptFiles)) // the pattern is valid
	for _, name := range left {
		_ = os.Remove(name)
	}
}

// Run carries out the imports that callers do not wait for, until ctx ends. Call it once.
func (a *API) Run(ctx context.Context) {
	removeLeft()
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-a.imports.queue:
			a.work(ctx, j)
		}
	}
}

func (a *API) work(ctx context.Context, j *job) {
	defer func() { <-a.imports.turn }()
	defer discard(j.file)
	defer j.cancel()
	defer context.AfterFunc(ctx, j.cancel)()
	j.enter(reading)
	result, err := a.guarded(j)
	log := a.opts.Logger.With("import", j.state.ID, "rows", j.rows.Load())
	end := a.opts.Now().UTC()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.EndedAt = &end
	switch {
	case err == nil:
		j.state.Phase = done
		j.state.Result = &counts{Count: result.count(), Added: len(result.Added), Changed: len(result.Changed), Unchanged: len(result.Unchanged), Removed: len(result.removed), warnings: result.warnings}
		log.Info("tag configuration imported", "dryRun", j.order.dryRun, "added", len(result.Added), "changed", len(result.Changed), "removed", len(result.removed))
		return
	case j.ctx.Err() != nil && problem.FaultOf(err).Kind == fault.Canceled:
		j.state.Phase = canceled
	default:
		j.state.Phase = failed
	}
	f := problem.FaultOf(err)
	j.state.Error = &importError{Code: problem.Lookup(err).Code, Detail: problem.Text(f)}
	if f.Kind == fault.Internal {
		log.Error("failed to import the tag configuration", "error", err)
		return
	}
	j.state.Error.Errors = f.Fields
	log.Warn("tag configuration not imported", "error", err)
}

// guarded is carryOut of a file that may be anything.
func (a *API) guarded(j *job) (result outcome, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return a.carryOut(j.ctx, j.file, j.order, j)
}

// progress serves GET /api/v1.0/config/tags/imports/{importId}.
func (a *API) progress(w http.ResponseWriter, r *http.Request) {
	j, err := a.imports.get(chi.URLParam(r, "importId"), a.opts.Now())
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answerWith(w, r, http.StatusOK, j.now())
}

// cancel serves DELETE /api/v1.0/config/tags/imports/{importId}.
func (a *API) cancel(w http.ResponseWriter, r *http.Request) {
	j, err := a.imports.get(chi.URLParam(r, "importId"), a.opts.Now())
	if err != nil {
		restapi.Error(w, r, err)
		return
	}
	j.cancel()
	answerWith(w, r, http.StatusOK, j.now())
}
