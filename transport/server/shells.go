package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/auth"
)

// shellRoom is the asset administration shells of a server, and the standard's API to them.
type shellRoom struct {
	service  *aas.Service
	standard *aasapi.API
}

func newShellRoom(o Options, guard *auth.Guard, engine *tags.Engine) (*shellRoom, error) {
	options := o.AAS
	if options.Now == nil {
		options.Now = o.Now
	}
	if options.Logger == nil {
		options.Logger = o.Logger
	}
	r := &shellRoom{}
	var err error
	if options.Values == nil {
		if options.Values, err = newValues(engine); err != nil {
			return nil, err
		}
	}
	if r.service, err = aas.NewService(o.Stores.AAS, options); err != nil {
		return nil, fmt.Errorf("asset administration shells: %w", err)
	}
	r.standard, err = aasapi.New(r.service, aasapi.Options{Guard: guard.Handler, MaxBodyBytes: o.MaxBodyBytes,
		MaxFileBytes: options.MaxFileBytes, Now: options.Now})
	if err != nil {
		return nil, errors.Join(err, r.service.Close())
	}
	return r, nil
}

// mount registers the standard's API, which has a table of operations and a guard for each of its own.
func (r *shellRoom) mount(router chi.Router) {
	for _, prefix := range aasapi.Prefixes() {
		router.Handle(prefix, r.standard)
		router.Handle(prefix+"/*", r.standard)
	}
}

// close ends the invocations that run, and then the subscriptions.
func (r *shellRoom) close(ctx context.Context) error {
	return errors.Join(r.standard.Close(ctx), r.service.Close())
}
