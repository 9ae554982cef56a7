package main

import (
	"context"

	"github.com/otkit/otkit/internal/program/users"
	"github.com/otkit/otkit/storage"
)

// users manages accounts.
func (c *command) users(ctx context.Context, args []string) error {
	return users.Command{Program: "engine", Roles: []string{"Viewer", "Operator", "Admin"}, In: c.in, Out: c.out, ErrOut: c.errOut,
		Flags: c.addFlags, Open: c.openAccounts}.Run(ctx, args)
}

func (c *command) openAccounts(ctx context.Context, create bool) (*storage.DB, error) {
	s, err := c.settings(nil)
	switch {
	case err != nil:
		return nil, err
	case create:
		return openOrCreate(ctx, s)
	}
	return openExisting(ctx, s)
}
