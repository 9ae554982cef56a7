package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/otkit/otkit/storage"
)

// Options are the settings of a PostgreSQL database.
type Options struct {
	storage.Options

	DSN      string        // URL or key=value form, as libpq takes it; default connect_timeout 10 s
	MaxConns int           // connections, 4..1000, default 16; one more asks whether the server answers, and one may listen
	Schema   string        // of the tables; made when it is missing; empty for the first of search_path
	Wait     time.Duration // how long Open waits for a server that cannot be reached; default: not at all
}

// Open connects to a database and brings the tables of the schemas to the newest version. A pooler such as PgBouncer
// may stand between, in transaction mode too.
func Open(ctx context.Context, opts Options, schemas ...storage.Schema) (*storage.DB, error) {
	if opts.MaxConns == 0 {
		opts.MaxConns = 16
	}
	if opts.MaxConns < 4 || opts.MaxConns > 1000 {
		return nil, storage.ErrOption.Because("MaxConns must be 4 to 1000, not %d", opts.MaxConns)
	}
	if opts.Schema != "" && !ValidSchema(opts.Schema) {
		return nil, storage.ErrOption.Because("Schema must be a lower-case name of at most 63 letters, digits and _")
	}
	config, err := pgx.ParseConfig(opts.DSN)
	if err != nil {
		return nil, storage.ErrOption.Because("DSN cannot be read").Wrap(err)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "otkit"
	}
	if config.RuntimeParams["jit"] == "" {
		config.RuntimeParams["jit"] = "off" // compiling takes longer than the longest of our queries
	}
	if config.RuntimeParams[maxPause] == "" {
		config.RuntimeParams[maxPause] = "3000" // ms: as long as the lease of an engine that hangs
	}
	if opts.Schema != "" {
		config.RuntimeParams["search_path"] = `"` + opts.Schema + `"`
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	config.DialFunc = dialer().DialContext
	d, err := reach(ctx, config, opts)
	if err != nil {
		return nil, err
	}
	if d.pooled {
		config.DialFunc = withoutCancel(config.DialFunc)
	}
	pool := openPool(config)
	pool.SetMaxOpenConns(opts.MaxConns)
	pool.SetMaxIdleConns(opts.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	probe := openPool(config)
	probe.SetMaxOpenConns(1)
	one := storage.Pools{Read: pool, Write: pool, Probe: probe}
	if !d.pooled { // what listens behind a pooler is a connection of the server, which others use too
		one.Listen = stdlib.OpenDB(*config)
		one.Listen.SetMaxOpenConns(1)
	}
	return storage.New(ctx, d, map[storage.SetName]storage.Pools{storage.State: one, storage.History: one}, opts.Options, schemas...)
}

// maxPause is the parameter that says when the server ends a transaction whose client does nothing: its locks would hold up all others.
const maxPause = "idle_in_transaction_session_timeout"

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// ValidSchema reports whether a name can be that of Options.Schema.
func ValidSchema(name string) bool { return schemaName.MatchString(name) }

// reach connects once, waiting for a server that is away, looks what there is between, and makes the schema. It
// fits config to a pooler.
func reach(ctx context.Context, config *pgx.ConnConfig, opts Options) (dialect, error) {
	d := dialect{}
	end, logged := time.Now().Add(opts.Wait), false
	for {
		err := d.look(ctx, config, opts)
		switch {
		case err == nil:
			return d, nil
		case ctx.Err() != nil:
			return d, ctx.Err()
		case d.Classify(err) != storage.Away:
			return d, err
		case !time.Now().Before(end):
			return d, storage.ErrAway.Wrap(err)
		}
		if log := opts.Logger; log != nil && !logged {
			log.Warn("failed to reach PostgreSQL; retrying", "wait", opts.Wait.String(), "error", err)
			logged = true
		}
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// look connects once.
func (d *dialect) look(ctx context.Context, config *pgx.ConnConfig, opts Options) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if unsupported := unsupportedParameter(err); unsupported != "" && config.RuntimeParams[unsupported] != "" {
		if unsupported == "search_path" {
			d.path = config.RuntimeParams[unsupported]
		}
		delete(config.RuntimeParams, unsupported)
		d.pooled = true
		return d.look(ctx, config, opts)
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return err
	}
	// A pooler sends a number of its own.
	if d.pooled = d.pooled || pid != conn.PgConn().PID(); d.pooled {
		// Prepared statements stay with a connection of the server, which may be another one each time.
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		delete(config.RuntimeParams, maxPause) // a lock is held by a transaction that does nothing, see holdInTx
		if path := config.RuntimeParams["search_path"]; path != "" {
			d.path = path // that of the connection may be lost with it
		}
		if opts.Logger != nil {
			opts.Logger.Info("PostgreSQL is behind a pooler; prepared statements disabled")
		}
	}
	return makeSchema(ctx, conn, opts)
}

// unsupportedParameter returns the name of a parameter that a pooler does not pass on.
func unsupportedParameter(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return ""
	}
	_, name, _ := strings.Cut(e.Message, "unsupported startup parameter: ")
	return strings.TrimSpace(name)
}

func makeSchema(ctx context.Context, conn *pgx.Conn, opts Options) error {
	if opts.Schema == "" || opts.NoMigrate {
		return nil
	}
	exists := false
	err := conn.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", pgx.QueryExecModeSimpleProtocol, `"`+opts.Schema+`"`).Scan(&exists)
	if err != nil || exists {
		return err
	}
	if _, err = conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS "`+opts.Schema+`"`); err != nil {
		return fmt.Errorf("schema %s does not exist and cannot be made: %w", opts.Schema, err)
	}
	return nil
}

var modeInDSN = regexp.MustCompile(`(?i)(^|\s)sslmode\s*=`)

// Insecure returns the host of a DSN that is another machine and whose connection need not be encrypted, since
// nothing sets sslmode; else it is empty.
func Insecure(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil || os.Getenv("PGSSLMODE") != "" || modeInDSN.MatchString(dsn) {
		return ""
	}
	if u, err := url.Parse(dsn); err == nil && u.Query().Has("sslmode") {
		return ""
	}
	hosts := []string{config.Host}
	for _, f := range config.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		address, err := netip.ParseAddr(host)
		if host != "localhost" && !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "@") && (err != nil || !address.IsLoopback()) {
			return host
		}
	}
	return ""
}
