// Package users is the command that manages the accounts of a program.
package users

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/accountstore"
)

// Command manages accounts, also beside the running program, which applies changes within seconds.
type Command struct {
	Program string
	Roles   []string // as the program writes them
	In      io.Reader
	Out     io.Writer
	ErrOut  io.Writer
	// Flags adds the flags that select the settings.
	Flags func(*flag.FlagSet)
	// Open opens the database after the flags are parsed, and makes it if create is set.
	Open func(ctx context.Context, create bool) (*storage.DB, error)
}

// Run runs one call of the command.
func (u Command) Run(ctx context.Context, args []string) error {
	usage := strings.NewReplacer("PROGRAM", u.Program, "ROLES", strings.Join(u.Roles, "|")).Replace(
		`usage: PROGRAM users add [-data DIR] [-config FILE] -role ROLES NAME   (password on standard input)
       PROGRAM users passwd [-data DIR] [-config FILE] NAME   (password on standard input)
       PROGRAM users list [-data DIR] [-config FILE]
       PROGRAM users remove [-data DIR] [-config FILE] [-force] NAME
`)
	if len(args) == 0 {
		fmt.Fprint(u.ErrOut, usage)
		return program.ErrUsage
	}
	verb := args[0]
	f := flag.NewFlagSet("users "+verb, flag.ContinueOnError)
	f.SetOutput(u.ErrOut)
	u.Flags(f)
	role := f.String("role", "", "`ROLE` of the new account: "+u.roles())
	force := f.Bool("force", false, "remove the last Admin that may log in, too")
	f.Usage = func() {
		fmt.Fprint(u.ErrOut, usage)
		f.PrintDefaults()
	}
	if verb == "-h" || verb == "--help" || verb == "-help" {
		f.Usage()
		return flag.ErrHelp
	}
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if err := u.check(verb, *role, f.NArg()); err != nil {
		return err
	}
	db, err := u.Open(ctx, verb == "add") // the first account may precede the first start
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
	if verb == "remove" {
		return remove(ctx, service, f.Arg(0), *force)
	}
	return u.manage(ctx, service, verb, *role, f.Arg(0))
}

// check checks a call before anything is opened.
func (u Command) check(verb, role string, names int) error {
	switch verb {
	case "list":
		if names > 0 {
			return errors.New("users list takes no name")
		}
		return nil
	case "add", "passwd", "remove":
	default:
		return fmt.Errorf("unknown command users %q; use add, passwd, list or remove", verb)
	}
	if names != 1 {
		return fmt.Errorf("users %s takes one name, after the flags", verb)
	}
	switch {
	case verb == "add" && role == "":
		return errors.New("users add needs -role " + u.roles())
	case verb == "add" && u.spelled(role) == "":
		return fmt.Errorf("role must be %s, not %.40q", u.roles(), role)
	}
	return nil
}

// roles lists the roles as prose does.
func (u Command) roles() string {
	last := len(u.Roles) - 1
	return strings.Join(u.Roles[:last], ", ") + " or " + u.Roles[last]
}

// spelled returns a role as the program writes it, empty if it has no such role.
func (u Command) spelled(role string) string {
	if i := slices.IndexFunc(u.Roles, func(r string) bool { return strings.EqualFold(r, role) }); i >= 0 {
		return u.Roles[i]
	}
	return ""
}

func (u Command) manage(ctx context.Context, service *accounts.Service, verb, role, name string) error {
	if verb == "list" {
		return u.list(ctx, service)
	}
	password, err := u.readPassword()
	if err != nil {
		return err
	}
	if verb == "passwd" {
		return service.SetPassword(ctx, name, password)
	}
	known, _ := accounts.ParseRole(role) // checked
	return service.Add(ctx, name, password, known)
}

// remove removes an account, but the last Admin only if it is forced.
func remove(ctx context.Context, service *accounts.Service, name string, force bool) error {
	if force {
		return service.Remove(ctx, name)
	}
	err := service.Delete(ctx, name, nil)
	if errors.Is(err, accounts.ErrLastAdmin) {
		return fmt.Errorf("%s is the last enabled Admin, without whom nobody could manage accounts: add another one first, or use -force", name)
	}
	return err
}

func (u Command) list(ctx context.Context, service *accounts.Service) error {
	list, err := service.List(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if _, err := fmt.Fprintf(u.Out, "%-24s %-10s %s\n", a.Name, cmp.Or(u.spelled(string(a.Role)), string(a.Role)), a.CreatedAt.UTC().Format("2006-01-02")); err != nil {
			return err
		}
	}
	return nil
}

// readPassword reads one line of standard input. On a terminal it asks and shows no echo.
func (u Command) readPassword() (string, error) {
	if file, ok := u.In.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(u.ErrOut, "Password: ")
		password, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(u.ErrOut)
		return string(password), err
	}
	line, err := bufio.NewReader(io.LimitReader(u.In, 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("the password is expected on standard input")
	}
	return line, nil
}
