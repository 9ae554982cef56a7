package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

// sheets has the media types of files with a tag configuration by the ends of their names.
var sheets = map[string]string{
	".csv": "text/csv", ".json": "application/json", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

func configCommands() []command {
	return []command{exportConfigCommand(), importConfigCommand()}
}

func exportConfigCommand() command {
	var force bool
	return command{name: "config tags export", args: "FILE", about: "Save the configuration of all tags as .csv, .xlsx or .json; - for CSV", least: 1, most: 1, takes: []string{"file"},
		flags: func(f *flag.FlagSet) { f.BoolVar(&force, "force", false, "replace the file") },
		run: func(ctx context.Context, c *cli, args []string) error {
			format := strings.TrimPrefix(strings.ToLower(filepath.Ext(args[0])), ".")
			if args[0] == "-" {
				format = "csv"
			}
			if sheets["."+format] == "" {
				return usagef("%s: the name of the file ends in .csv, .xlsx or .json", args[0])
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			answer, err := conn.ExportTagConfig(withSilence(ctx, bulkSilence), &client.ExportTagConfigParams{Format: client.ExportTagConfigParamsFormat(format)})
			if err := check(answer, err); err != nil {
				return err
			}
			return c.save(answer, args[0], force)
		}}
}

func importConfigCommand() command {
	var dryRun, replace, force bool
	return command{name: "config tags import", args: "FILE", about: "Apply a file with the configuration of tags: all of it, or nothing", least: 1, most: 1, takes: []string{"file"},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&dryRun, "dry-run", false, "show what would change")
			f.BoolVar(&replace, "replace", false, "remove the items that the file does not name")
			f.BoolVar(&force, "force", false, "with -replace: also remove tags that are in use")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			kind, ok := sheets[strings.ToLower(filepath.Ext(args[0]))]
			if !ok {
				return usagef("%s: the name of the file ends in .csv, .xlsx or .json", args[0])
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			query := url.Values{}
			if replace {
				query.Set("mode", "replace")
			}
			if force {
				query.Set("force", "true")
			}
			body, err := c.newUpload(args[0], kind)
			if err != nil {
				return err
			}
			if dryRun {
				return c.tryConfig(ctx, conn, query, body)
			}
			query.Set("async", "true")
			begun, _, err := change[client.TagImport](conn.send(withSilence(ctx, bulkSilence), http.MethodPost, "/api/v1.0/config/tags/import", query, nil, body))
			body.show.end()
			if err != nil {
				return err
			}
			return c.awaitImport(ctx, conn, begun)
		}}
}

// tryConfig shows what an import would change.
func (c *cli) tryConfig(ctx context.Context, conn *connection, query url.Values, body *upload) error {
	query.Set("dryRun", "true")
	diff, raw, err := get[client.ImportAnswer](conn.send(withSilence(ctx, bulkSilence), http.MethodPost, "/api/v1.0/config/tags/import", query, nil, body))
	body.show.end()
	if err != nil {
		return err
	}
	for _, w := range diff.Warnings {
		text, err := json.Marshal(w)
		if err != nil {
			return err
		}
		c.note("warning: %s", text)
	}
	return c.show(raw, func() [][]string {
		rows := [][]string{{"CHANGE", "TAG", "FIELD", "OLD", "NEW"}}
		for _, a := range diff.Added {
			rows = append(rows, []string{"add", a.TagID, "", "", ""})
		}
		for _, change := range diff.Changed {
			for _, f := range change.Fields {
				rows = append(rows, []string{"change", change.TagID, f.Field, jsonText(f.Old), jsonText(f.New)})
			}
		}
		for _, id := range diff.Removed {
			rows = append(rows, []string{"remove", id, "", "", ""})
		}
		return append(rows, []string{"unchanged", fmt.Sprint(len(diff.Unchanged)), "", "", ""})
	})
}

func jsonText(v any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(text), `"`)
}

// awaitImport waits for an import. An interrupt cancels it, unless it is being applied already.
func (c *cli) awaitImport(ctx context.Context, conn *connection, state client.TagImport) error {
	show := c.progress("importing", 0)
	defer show.end()
	var (
		raw    []byte
		failed time.Time
	)
	for tries := 0; ; tries++ {
		show.draw(-1, fmt.Sprintf("%s, %d rows", state.Phase, state.Rows))
		now, text, err := get[client.TagImport](conn.GetTagImport(ctx, state.ID))
		switch {
		case err == nil:
			state, raw, failed = now, text, time.Time{}
		case ctx.Err() != nil:
		case c.codeOf(err) != exitFailed:
			return failf(exitUnknown, "the outcome of the import %s is unknown: %w", state.ID, err)
		case failed.IsZero():
			failed = time.Now()
		case time.Since(failed) > time.Minute:
			return failf(exitUnknown, "the outcome of the import %s is unknown: %w", state.ID, err)
		}
		if state.Phase == client.ImportDone || state.Phase == client.ImportFailed || state.Phase == client.ImportCanceled {
			break
		}
		if err := pause(ctx, tries); err != nil {
			return cancelImport(conn, state.ID)
		}
	}
	show.end()
	err := c.show(raw, func() [][]string {
		r := state.Result
		return [][]string{{"STATE", "ADDED", "CHANGED", "REMOVED", "UNCHANGED"},
			{string(state.Phase), fmt.Sprint(r.Added), fmt.Sprint(r.Changed), fmt.Sprint(r.Removed), fmt.Sprint(r.Unchanged)}}
	})
	if state.Phase == client.ImportDone {
		return err
	}
	text := string(state.Phase)
	if e := state.Error; e.Code != "" {
		text = e.Detail + " (" + e.Code + ")"
		for _, f := range e.Errors {
			text += "; " + f.Field + ": " + f.Message
		}
	}
	return errors.Join(failf(exitRefused, "nothing was imported: %s", text), err)
}

func cancelImport(conn *connection, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _, err := get[client.TagImport](conn.CancelTagImport(ctx, id))
	for tries := 0; err == nil; tries++ {
		var state client.TagImport
		if state, _, err = get[client.TagImport](conn.GetTagImport(ctx, id)); err != nil {
			break
		}
		switch state.Phase {
		case client.ImportCanceled:
			return failf(exitInterrupted, "interrupted; nothing was imported")
		case client.ImportDone:
			return failf(exitInterrupted, "interrupted, but the import was applied already")
		case client.ImportFailed:
			return failf(exitInterrupted, "interrupted; nothing was imported: %s", state.Error.Detail)
		}
		err = pause(ctx, tries)
	}
	return failf(exitUnknown, "interrupted; the outcome of the import %s is unknown: %w", id, err)
}
