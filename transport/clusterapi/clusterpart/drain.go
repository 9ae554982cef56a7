package clusterpart

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/fault"
)

// errDrainFile is for a drain that would not survive a restart.
var errDrainFile = fault.New(fault.Unavailable, "DRAIN_NOT_STORED", "the engine cannot store in its data directory whether it is drained")

// drainTimeout is how long another engine has to answer.
const drainTimeout = 5 * time.Second

// subjectDrain is that of requests to an engine to be drained, or to take work again.
func subjectDrain(engine string) string { return "engine.drain." + hex.EncodeToString([]byte(engine)) }

// drainRequest and drainAnswer are what is sent.
type (
	drainRequest struct {
		Drain bool `json:"drain"`
	}
	drainAnswer struct {
		Stored bool `json:"stored"`
	}
)

// DrainEngine has an engine give its work to the others, or take its share again. If there is no such engine it returns cluster.ErrEngineNotFound, and
// if it is the last that is not drained, cluster.ErrNoOtherEngine.
func (c *Cluster) DrainEngine(ctx context.Context, engine string, drain bool) error {
	sessions := c.member.View().Sessions
	i := slices.IndexFunc(sessions, func(s cluster.Session) bool { return s.Engine == engine })
	if i < 0 {
		return cluster.ErrEngineNotFound.On("engineId", engine)
	}
	if drain && !slices.ContainsFunc(sessions, func(s cluster.Session) bool { return s.Engine != engine && !s.Draining }) {
		return noOtherEngine(engine, sessions[i].Name)
	}
	if engine == c.opts.Engine {
		return c.drainSelf(drain)
	}
	request, err := json.Marshal(drainRequest{drain})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	text, err := c.opts.Bus.Request(ctx, subjectDrain(engine), request)
	if err != nil {
		return err
	}
	var answer drainAnswer
	if err := json.Unmarshal(text, &answer); err != nil || !answer.Stored {
		return errDrainFile.On("engineId", engine)
	}
	return nil
}

// noOtherEngine names an engine as people do, if it has a name.
func noOtherEngine(id, name string) error {
	return cluster.ErrNoOtherEngine.With("engineId", id).Because("%s", cmp.Or(name, id))
}

// serveDrain answers another engine.
func (c *Cluster) serveDrain(_ context.Context, data []byte) []byte {
	var request drainRequest
	err := json.Unmarshal(data, &request)
	if err == nil {
		err = c.drainSelf(request.Drain)
	}
	answer, _ := json.Marshal(drainAnswer{err == nil}) // cannot fail
	return answer
}

// drainSelf drains this engine, or ends that.
func (c *Cluster) drainSelf(drain bool) error {
	c.draining.Lock()
	defer c.draining.Unlock()
	if err := c.storeDrain(drain); err != nil {
		c.opts.Logger.Error("failed to store whether the engine is drained", "error", err)
		return errDrainFile.Wrap(err)
	}
	c.member.Drain(drain)
	return nil
}

func (c *Cluster) storeDrain(drain bool) error {
	if c.opts.DrainFile == "" {
		return nil
	}
	return StoreDrain(c.opts.DrainFile, drain)
}

// StoreDrain makes the file of Options.DrainFile, or removes it, also beside an engine that runs. An engine that runs follows within a second.
func StoreDrain(path string, drain bool) error {
	if drain {
		return os.WriteFile(path, nil, 0o600)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// followFile does as the file says. If that cannot be seen, all stays as it is.
func (c *Cluster) followFile() {
	if c.opts.DrainFile == "" {
		return
	}
	c.draining.Lock()
	defer c.draining.Unlock()
	switch _, err := os.Stat(c.opts.DrainFile); {
	case err == nil:
		c.member.Drain(true)
	case errors.Is(err, fs.ErrNotExist):
		c.member.Drain(false)
	}
}
