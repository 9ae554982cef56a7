package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/storage/accountstore"
)

const usersUsage = `users add [-data DIR] [-config FILE] -role Admin|Operator|Viewer NAME   (password on standard input)
       engine users passwd [-data DIR] [-config FILE] NAME   (password on standard input)
       engine users list [-data DIR] [-config FILE]
       engine users remove [-data DIR] [-config FILE] NAME`

// users manages accounts, also beside a running engine, which applies changes within seconds.
func (c *command) users(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprintln(c.errOut, "usage: engine "+usersUsage)
		return flag.ErrHelp
	}
	f := c.flags("users "+args[0], usersUsage)
	role := f.String("role", "", "`ROLE` of the new account: Admin, Operator or Viewer")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	s, err := c.settings(nil)
	if err != nil {
		return err
	}
	open := openExisting
	if args[0] == "add" { // the first account may precede the first start
		open = openOrCreate
	}
	db, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := accountstore.New(db)
	if err != nil {
		return err
	}
	service, err := accounts.New(store, store, accounts.Options{})
	if err != nil {
		return err
	}
	return c.manage(ctx, service, args[0], *role, f.Args())
}

func (c *command) manage(ctx context.Context, service *accounts.Service, verb, role string, names []string) error {
	if verb == "list" {
		if len(names) > 0 {
			return errors.New("users list takes no name")
		}
		return c.listUsers(ctx, service)
	}
	if len(names) != 1 {
		return fmt.Errorf("users %s takes one name, after the flags", verb)
	}
	switch verb {
	case "add":
		if role == "" {
			return errors.New("users add needs -role Admin, Operator or Viewer")
		}
		password, err := c.readPassword()
		if err != nil {
			return err
		}
		return service.Add(ctx, names[0], password, accounts.Role(role))
	case "passwd":
		password, err := c.readPassword()
		if err != nil {
			return err
		}
		return service.SetPassword(ctx, names[0], password)
	case "remove":
		return service.Remove(ctx, names[0])
	}
	return fmt.Errorf("unknown command users %q; use add, passwd, list or remove", verb)
}

func (c *command) listUsers(ctx context.Context, service *accounts.Service) error {
	list, err := service.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if _, err := fmt.Fprintf(c.out, "%-24s %-10s %s\n", a.Name, a.Role, a.CreatedAt.UTC().Format("2006-01-02")); err != nil {
			return err
		}
	}
	return nil
}

// readPassword reads one line of standard input. On a terminal it asks and shows no echo.
func (c *command) readPassword() (string, error) {
	if file, ok := c.in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(c.errOut, "Password: ")
		password, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(c.errOut)
		return string(password), err
	}
	line, err := bufio.NewReader(io.LimitReader(c.in, 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("the password is expected on standard input")
	}
	return line, nil
}
