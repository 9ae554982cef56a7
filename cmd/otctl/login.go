package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/otkit/otkit/openapi/client"
)

func loginCommands() []command {
	var (
		user  string
		stdin bool
	)
	return []command{
		{name: "login", about: "Log in; the session is kept and renewed until logout",
			flags: func(f *flag.FlagSet) {
				f.StringVar(&user, "user", "", "`NAME` of the account (default: it is asked for)")
				f.BoolVar(&stdin, "password-stdin", false, "read the password from the standard input")
			},
			run: func(ctx context.Context, c *cli, _ []string) error { return c.login(ctx, user, stdin) }},
		{name: "logout", about: "End the session", run: logout},
		{name: "servers list", about: "List the engines with a session", run: listServers},
		{name: "servers use", args: "URL", about: "Choose the engine of commands without -server", least: 1, most: 1, takes: []string{"server"}, run: useServer},
	}
}

func (c *cli) login(ctx context.Context, user string, stdin bool) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	c.warnOfPlainText(conn.server)
	lines := bufio.NewReader(c.in)
	if user == "" {
		if stdin {
			return usagef("-password-stdin needs -user")
		}
		fmt.Fprint(c.errOut, "User: ")
		if user, err = interruptible(ctx, func() (string, error) { return line(lines) }); err != nil {
			return fmt.Errorf("read the name: %w", err)
		}
	}
	password, err := c.password(ctx, lines, stdin)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	api, err := conn.sender.withoutToken()
	if err != nil {
		return err
	}
	tokens, raw, err := get[client.Tokens](api.Login(ctx, client.LoginRequest{Username: user, Password: password}))
	if err != nil {
		var refused *apiError
		if errors.As(err, &refused) && refused.exitCode() == exitForbidden {
			return failf(exitForbidden, "%s: %s", conn.server, refused.message)
		}
		return err
	}
	err = conn.sender.store.change(ctx, func(saved *sessions) error {
		own := session{User: user, CAFile: saved.Sessions[conn.server].CAFile}
		if c.caFile != "" {
			if own.CAFile, err = filepath.Abs(c.caFile); err != nil {
				return err
			}
		}
		own.take(tokens)
		saved.Sessions[conn.server], saved.Current = own, conn.server
		return nil
	})
	if err != nil {
		return err
	}
	_ = raw // it has the tokens, which are not for a screen
	roles := make([]string, len(tokens.Roles))
	for i, role := range tokens.Roles {
		roles[i] = string(role)
	}
	_, err = fmt.Fprintln(c.out, plain(fmt.Sprintf("Logged in to %s as %s (%s).", conn.server, user, strings.Join(roles, ", "))))
	return err
}

// warnOfPlainText warns before a password goes over a network as it is.
func (c *cli) warnOfPlainText(server string) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return
	}
	c.note("otctl: %s has no TLS: the password can be read on the network", server)
}

// line reads one line without its end.
func line(r *bufio.Reader) (string, error) {
	text, err := r.ReadString('\n')
	if text != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}

// interruptible reads what may never come. The program ends soon after ctx, and with it a read that goes on.
func interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// password reads it without echo from a terminal.
func (c *cli) password(ctx context.Context, lines *bufio.Reader, stdin bool) (string, error) {
	if stdin {
		return interruptible(ctx, func() (string, error) { return line(lines) })
	}
	file, ok := c.in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return "", usagef("the standard input is no terminal; use -password-stdin")
	}
	fd := int(file.Fd())
	echoing, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(c.errOut, "Password: ")
	password, err := interruptible(ctx, func() (string, error) {
		password, err := term.ReadPassword(fd)
		return string(password), err
	})
	if ctx.Err() != nil { // the read goes on and would leave the terminal without echo
		err = errors.Join(err, term.Restore(fd, echoing))
	}
	fmt.Fprintln(c.errOut)
	return password, err
}

func logout(ctx context.Context, c *cli, _ []string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	_, failed := receive(conn.Logout(ctx))
	if code := c.codeOf(failed); code == exitForbidden {
		failed = nil // it has ended already
	}
	err = conn.sender.store.change(context.WithoutCancel(ctx), func(saved *sessions) error {
		delete(saved.Sessions, conn.server)
		if saved.Current == conn.server {
			saved.Current = ""
		}
		return nil
	})
	if failed != nil {
		return fmt.Errorf("the session is forgotten here, but may go on at %s: %w", conn.server, failed)
	}
	return err
}

// codeOf returns the exit code of an error that is handled.
func (c *cli) codeOf(err error) int {
	var (
		f       *failure
		refused *apiError
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		return f.code
	case errors.As(err, &refused):
		return refused.exitCode()
	}
	return exitFailed
}

func listServers(_ context.Context, c *cli, _ []string) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	saved, err := store.load()
	if err != nil {
		return err
	}
	type server struct {
		Server  string `json:"server"`
		User    string `json:"user"`
		Current bool   `json:"current"`
	}
	rows, list := [][]string{{"SERVER", "USER", "CURRENT"}}, []server{}
	for _, name := range slices.Sorted(maps.Keys(saved.Sessions)) {
		one := server{name, saved.Sessions[name].User, name == saved.Current}
		list = append(list, one)
		rows = append(rows, []string{one.Server, one.User, yesNo(one.Current)})
	}
	if c.output == "json" {
		return c.jsonLine(list)
	}
	_, err = c.out.WriteString(layout(rows))
	return err
}

func useServer(ctx context.Context, c *cli, args []string) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	name, err := serverURL(args[0])
	if err != nil {
		return err
	}
	return store.change(ctx, func(saved *sessions) error {
		if _, ok := saved.Sessions[name]; !ok {
			return failf(exitNotFound, "there is no session for %s", cmp.Or(name, args[0]))
		}
		saved.Current = name
		return nil
	})
}
