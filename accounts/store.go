package accounts

import (
	"context"
	"time"

	"github.com/otkit/otkit/fault"
)

// Errors of stores and of the service.
var (
	ErrAccountNotFound = fault.New(fault.NotFound, "ACCOUNT_NOT_FOUND", "account not found")
	ErrAccountExists   = fault.New(fault.AlreadyExists, "ACCOUNT_EXISTS", "account exists already")
	ErrSessionNotFound = fault.New(fault.NotFound, "SESSION_NOT_FOUND", "session not found")
)

// Role is what an account may do. Each role includes the ones before it.
type Role string

// The roles, from least to most.
const (
	Viewer   Role = "Viewer"   // reads
	Operator Role = "Operator" // also acknowledges alarms, posts resolutions, runs device commands
	Admin    Role = "Admin"    // everything, tag writes and accounts included
)

// Account is a person or program that may log in.
type Account struct {
	Name         string // unique without regard to case; 1..64 of letters, digits and ._@-
	PasswordHash string // argon2id in PHC string form
	Role         Role
	Disabled     bool // nobody may log in, and no session goes on
	CreatedAt    time.Time
	UpdatedAt    time.Time
	LastSignIn   time.Time // zero before the first one; changing an account does not change it
}

// Effect is what a change of an account does to it and to its sessions.
type Effect int

// The effects.
const (
	Keep     Effect = iota // its sessions go on
	SignsOut               // its sessions end, at the account's UpdatedAt
	Removes                // the account and its sessions are removed
)

// Session is one login: it lives from login to logout or expiry, over any number of refreshes.
type Session struct {
	ID          string // UUIDv7; the claim sid of its access tokens
	Account     string
	RefreshHash []byte // of the one refresh token that is valid now, or of the secret of a browser
	Address     string // network address of the login; empty if it is not known
	CreatedAt   time.Time
	RefreshedAt time.Time // last refresh; zero before the first
	ExpiresAt   time.Time
	EndedAt     time.Time // zero while it lives
}

// Store holds accounts. Names are compared without regard to case. Safe for concurrent use.
// Package accountstest has a conformance suite for both stores.
type Store interface {
	// Account returns an account or ErrAccountNotFound.
	Account(ctx context.Context, name string) (Account, error)
	// AddAccount stores a new account or returns ErrAccountExists.
	AddAccount(ctx context.Context, a Account) error
	// UpdateAccount changes an account in one step or returns ErrAccountNotFound. update may be called
	// more than once; its error ends the call and is returned. Name cannot be changed.
	UpdateAccount(ctx context.Context, name string, update func(*Account) error) error
	// ChangeAccount changes or removes an account in one step with its sessions, or returns ErrAccountNotFound. change gets
	// the account and the number of other accounts that are Admin and not disabled; no call changes that number meanwhile.
	// change may be called more than once; its error ends the call and is returned. Name cannot be changed.
	ChangeAccount(ctx context.Context, name string, change func(a *Account, otherAdmins int) (Effect, error)) error
	// RemoveAccount removes an account and its sessions, or returns ErrAccountNotFound.
	RemoveAccount(ctx context.Context, name string) error
	// Accounts returns all accounts by name.
	Accounts(ctx context.Context) ([]Account, error)
}

// SessionStore holds sessions. Safe for concurrent use.
type SessionStore interface {
	// AddSession stores a new session, and its CreatedAt as the LastSignIn of the account.
	AddSession(ctx context.Context, s Session) error
	// Session returns a session or ErrSessionNotFound.
	Session(ctx context.Context, id string) (Session, error)
	// UpdateSession changes a session in one step or returns ErrSessionNotFound. update may be called
	// more than once; its error ends the call and is returned.
	UpdateSession(ctx context.Context, id string, update func(*Session) error) error
	// Sessions returns the sessions of an account that have not been removed, of all accounts if account is empty, in no
	// particular order. They may have ended or expired.
	Sessions(ctx context.Context, account string) ([]Session, error)
	// EndSessions ends every session of an account that has not ended, except the one with the id keep.
	EndSessions(ctx context.Context, account, keep string, at time.Time) error
	// RemoveSessions removes sessions that expired before the given time.
	RemoveSessions(ctx context.Context, before time.Time) error
}
