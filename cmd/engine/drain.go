package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/cluster"
	otkit "github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// exitNotYet is the exit code where the engine has not done in time what it was told.
const exitNotYet = 3

// drainLook is how often drain looks at what the engine still does.
const drainLook = 250 * time.Millisecond

// drain has an engine give its work to the others, also beside the running one.
func (c *command) drain(ctx context.Context, args []string) error {
	f := c.flags("drain", "drain [-config FILE] [-data DIR] [-undo] [-force] [-wait 30s]   (exit code 3: not done in time)")
	undo := f.Bool("undo", false, "take a share of the work again")
	force := f.Bool("force", false, "drain the last engine, too: nobody polls a device then")
	wait := f.Duration("wait", 30*time.Second, "how `LONG` to wait until it is done; 0 to wait for nothing")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return errors.New("drain takes flags only")
	}
	ctx, cancel := program.UntilSignal(ctx)
	defer cancel()
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	if s.Storage.Driver != "postgres" {
		return errors.New("drain is for engines that share a PostgreSQL: storage.driver is " + s.Storage.Driver)
	}
	id, err := engineOf(s.Storage.DataDir)
	if err != nil {
		return err
	}
	plant, notSeen := c.openPlant(ctx, s)
	if notSeen == nil {
		defer func() { _ = plant.db.Close(context.WithoutCancel(ctx)) }()
		if !*undo && !*force {
			state, err := plant.store.State(ctx)
			if err != nil {
				return err
			}
			if isLast(state, id) {
				return fmt.Errorf("%w; -force drains the engine nevertheless", cluster.ErrNoOtherEngine)
			}
		}
	}
	if err := clusterpart.StoreDrain(filepath.Join(s.Storage.DataDir, otkit.DrainFile), !*undo); err != nil {
		return err
	}
	switch {
	case *wait <= 0:
		return nil
	case notSeen != nil:
		return fmt.Errorf("the engine is told; whether it does it cannot be seen: %w", notSeen)
	}
	return c.awaitDrain(ctx, plant.store, id, !*undo, *wait)
}

// sharedPlant is the database by which engines share a plant.
type sharedPlant struct {
	db    *storage.DB
	store *clusterstore.Store
}

func (c *command) openPlant(ctx context.Context, s engineconfig.Engine) (sharedPlant, error) {
	db, err := openExisting(ctx, s)
	if err != nil {
		return sharedPlant{}, err
	}
	store, err := clusterstore.New(db)
	if err != nil {
		return sharedPlant{}, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}
	return sharedPlant{db, store}, nil
}

// isLast reports whether an engine runs and no other one does that is not drained.
func isLast(state cluster.State, id string) bool {
	own, others := false, false
	for i := range state.Sessions {
		switch s := &state.Sessions[i]; {
		case s.Draining:
		case s.Engine == id:
			own = true
		default:
			others = true
		}
	}
	return own && !others
}

// engineOf returns the id of the engine of a data directory.
func engineOf(dataDir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dataDir, alertingpart.EngineFile)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no engine has run on the data directory %s", dataDir)
	}
	name, err := alertingpart.EngineName(dataDir)
	id, _, _ := strings.Cut(name, "@")
	return id, err
}

// awaitDrain prints what the engine still does until it is as it was told.
func (c *command) awaitDrain(ctx context.Context, store *clusterstore.Store, id string, drain bool, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for last := ""; ; {
		state, err := store.State(ctx)
		if err != nil {
			return fmt.Errorf("the engine is told; whether it does it cannot be seen: %w", err)
		}
		text, done := progress(state, id, drain)
		if text != last {
			fmt.Fprintln(c.out, text)
			last = text
		}
		switch {
		case done:
			return nil
		case time.Now().After(deadline):
			return program.WithCode(exitNotYet, fmt.Errorf("not done after %s; the engine goes on", wait))
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return program.WithCode(exitNotYet, errors.New("interrupted; the engine goes on"))
		}
	}
}

// progress says how far an engine is with being drained, or with taking work again.
func progress(state cluster.State, id string, drain bool) (text string, done bool) {
	i := slices.IndexFunc(state.Sessions, func(s cluster.Session) bool { return s.Engine == id })
	if i < 0 {
		if drain {
			return "the engine does not run; it will be drained when it does", true
		}
		return "the engine does not run; it will take its share of the work when it does", true
	}
	s := &state.Sessions[i]
	left := map[string]int{}
	for _, l := range state.Leases {
		if l.Session == s.ID {
			kind, _, _ := strings.Cut(l.Work, "/")
			left[kind]++
		}
	}
	switch {
	case s.Draining != drain:
		return "waiting for the engine " + s.Name, false
	case !drain:
		return "the engine " + s.Name + " takes its share of the work", true
	case len(left) == 0:
		return "the engine " + s.Name + " is drained", true
	}
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		counts = append(counts, fmt.Sprintf("%s %d", kind, left[kind]))
	}
	return "the engine " + s.Name + " still does: " + strings.Join(counts, ", "), false
}
