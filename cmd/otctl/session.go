package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/openapi/client"
)

// session is what is kept of a login.
type session struct {
	User         string    `json:"user"`
	CAFile       string    `json:"caFile,omitempty"`
	AccessToken  string    `json:"accessToken"`
	ExpiresAt    time.Time `json:"expiresAt"` // of the access token, by the clock of this machine
	RefreshToken string    `json:"refreshToken"`
}

// sessions is the content of the file.
type sessions struct {
	Current  string             `json:"current"` // the engine of commands that name none
	Sessions map[string]session `json:"sessions"`
}

// store is the file with the sessions, which several processes may use.
type store struct{ path string }

// openStore names the file. OTCTL_CONFIG_DIR is for tests and for systems without a home.
func openStore() (*store, error) {
	dir := os.Getenv("OTCTL_CONFIG_DIR")
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("%w; set OTCTL_CONFIG_DIR", err)
		}
		dir = filepath.Join(base, "otctl")
	}
	return &store{filepath.Join(dir, "sessions.json")}, nil
}

func (s *store) load() (saved sessions, err error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, err
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return saved, fmt.Errorf("%s is damaged: %w; remove it and log in again", s.path, err)
	}
	return saved, nil
}

func (s *store) session(server string) (session, error) {
	saved, err := s.load()
	return saved.Sessions[server], err
}

// lockTimeout is longer than the exchange of a token takes at most.
const lockTimeout = 30 * time.Second

// change changes the file while no other process does.
func (s *store) change(ctx context.Context, edit func(*sessions) error) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, 20*time.Millisecond); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("another otctl, perhaps a stopped one, holds %s.lock: %w", s.path, err)
		}
		return fmt.Errorf("lock %s: %w", s.path, err)
	}
	defer lock.Close()
	saved, err := s.load()
	if err != nil {
		return err
	}
	if saved.Sessions == nil {
		saved.Sessions = map[string]session{}
	}
	if err := edit(&saved); err != nil {
		return err
	}
	text, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path, text)
}

// margin is how long before its end a token is renewed.
const margin = 20 * time.Second

// token returns the access token of the session; none where nobody has logged in.
func (s *sender) token(ctx context.Context) (string, error) {
	if s.fixed != "" {
		return s.fixed, nil
	}
	own, err := s.store.session(s.server)
	if err != nil || own.RefreshToken == "" || time.Until(own.ExpiresAt) > margin {
		return own.AccessToken, err
	}
	return s.renew(ctx, own.AccessToken)
}

// errSessionOver tells that there must be a new login.
var errSessionOver = errors.New("the session has ended")

// renew exchanges the refresh token, unless another process has done so since used was read. A refresh token can be exchanged
// once: the lock keeps two processes from ending their session.
func (s *sender) renew(ctx context.Context, used string) (token string, err error) {
	err = s.store.change(ctx, func(saved *sessions) error {
		own := saved.Sessions[s.server]
		if own.AccessToken != used || own.RefreshToken == "" {
			token = own.AccessToken
			return nil
		}
		tokens, err := s.exchange(ctx, own.RefreshToken)
		var refused *apiError
		switch {
		case errors.As(err, &refused) && refused.status == http.StatusUnauthorized:
			return failf(exitForbidden, `not signed in to %s: %w; run "otctl login -server %[1]s"`, s.server, errSessionOver)
		case err != nil:
			return fmt.Errorf("renew the session: %w", err)
		}
		own.take(tokens)
		saved.Sessions[s.server], token = own, own.AccessToken
		return nil
	})
	return token, err
}

func (s *session) take(t client.Tokens) {
	s.AccessToken, s.RefreshToken = t.AccessToken, t.RefreshToken
	s.ExpiresAt = time.Now().Add(time.Duration(t.ExpiresIn) * time.Second).UTC().Round(0)
}

// plainDoer sends without the token of the session.
type plainDoer struct{ s *sender }

func (d plainDoer) Do(r *http.Request) (*http.Response, error) { return d.s.once(r, "") }

func (s *sender) withoutToken() (*client.Client, error) {
	return client.NewClient(s.server, client.WithHTTPClient(plainDoer{s}))
}

func (s *sender) exchange(ctx context.Context, refreshToken string) (client.Tokens, error) {
	api, err := s.withoutToken()
	if err != nil {
		return client.Tokens{}, err
	}
	// Who gives up here has used the token and lost the new one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	tokens, _, err := get[client.Tokens](api.Refresh(ctx, client.RefreshRequest{RefreshToken: refreshToken}))
	return tokens, err
}
