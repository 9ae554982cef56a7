package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/openapi/client"
)

// media has the media types of files with shells by the ends of their names.
var media = map[string]string{
	".aasx": "application/asset-administration-shell-package+xml", ".json": "application/json", ".xml": "application/xml",
}

// bulkSilence is the limit for requests that the engine answers when it has worked through a file.
const bulkSilence = 15 * time.Minute

func shellCommands() []command {
	return []command{listShellsCommand(), getShellCommand(), importShellsCommand(), exportShellsCommand()}
}

func listShellsCommand() command {
	var limit int
	return command{name: "aas list", about: "List shells by id",
		flags: func(f *flag.FlagSet) { f.IntVar(&limit, "limit", 0, "list at most `N` shells (default: all)") },
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, err := pages[aas.Shell](ctx, "items", 100, limit, func(page, size int) (*http.Response, error) {
				return conn.ListShells(ctx, &client.ListShellsParams{Page: &page, PageSize: &size})
			})
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"ID", "ID SHORT", "KIND", "ASSET", "SUBMODELS"}}
				for _, s := range list {
					rows = append(rows, []string{s.ID, s.IDShort, string(s.AssetInformation.AssetKind), s.AssetInformation.GlobalAssetID, fmt.Sprint(len(s.Submodels))})
				}
				return rows
			})
		}}
}

func getShellCommand() command {
	var withSubmodels bool
	return command{name: "aas get", args: "ID", about: "Show a shell and its submodels", least: 1, most: 1, takes: []string{"shell"},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&withSubmodels, "submodels", false, "with -o json: the submodels with their values in place of the shell")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			return c.showShell(ctx, args[0], withSubmodels)
		}}
}

func (c *cli) showShell(ctx context.Context, id string, withSubmodels bool) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	s, raw, err := get[aas.Shell](conn.GetShell(ctx, id, nil))
	if err != nil {
		return err
	}
	if c.output == "json" && !withSubmodels {
		return c.json(raw)
	}
	parts, raw, err := get[shellParts](conn.ListShellSubmodels(ctx, id))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		rows := [][]string{{"KIND", "ID", "ID SHORT"}, {"Shell", s.ID, s.IDShort}, {"Asset", s.AssetInformation.GlobalAssetID, ""}}
		for _, part := range parts.Items {
			rows = append(rows, []string{"Submodel", part.ID, part.IDShort + part.SubmodelType})
		}
		return rows
	})
}

// shellParts has what a table shows of the submodels of a shell.
type shellParts struct {
	Items []struct{ ID, IDShort, SubmodelType string }
}

// importReport is the answer to an import.
type importReport struct {
	Created, Replaced, Files int
	Findings                 []client.FieldError
}

func importShellsCommand() command {
	var replace bool
	var verification string
	return command{name: "aas import", args: "FILE", about: "Import shells from AASX, JSON or XML: all of the file, or none", least: 1, most: 1, takes: []string{"file"},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&replace, "replace", false, "replace what the engine has already")
			f.StringVar(&verification, "verification", "", "off, permissive or strict (default: permissive)")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			kind, ok := media[strings.ToLower(filepath.Ext(args[0]))]
			if !ok {
				return usagef("%s: the name of an AASX package, JSON or XML ends in .aasx, .json or .xml", args[0])
			}
			query := url.Values{}
			if replace {
				query.Set("replace", "true")
			}
			if verification != "" {
				query.Set("verification", verification)
			}
			return c.importShells(ctx, args[0], kind, query)
		}}
}

func (c *cli) importShells(ctx context.Context, path, kind string, query url.Values) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	body, err := c.newUpload(path, kind)
	if err != nil {
		return err
	}
	r, raw, err := change[importReport](conn.send(withSilence(ctx, bulkSilence), http.MethodPost, "/upload", query, nil, body))
	body.show.end()
	if err != nil {
		return err
	}
	for _, f := range r.Findings {
		c.note("%s: %s", f.Field, f.Message)
	}
	return c.show(raw, func() [][]string {
		return [][]string{{"CREATED", "REPLACED", "FILES", "FINDINGS"}, {fmt.Sprint(r.Created), fmt.Sprint(r.Replaced), fmt.Sprint(r.Files), fmt.Sprint(len(r.Findings))}}
	})
}

func exportShellsCommand() command {
	var (
		file  string
		force bool
	)
	return command{name: "aas export", args: "[SHELL-ID...]", about: "Export shells with their submodels as AASX, JSON or XML", most: -1, takes: []string{"shell"},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&file, "file", "", "`FILE` to write, with the end .aasx, .json or .xml; - for JSON to the standard output; required")
			f.BoolVar(&force, "force", false, "replace the file")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			kind, ok := media[strings.ToLower(filepath.Ext(file))]
			if file == "-" {
				kind, ok = media[".json"], true
			}
			if !ok {
				return usagef("-file FILE is required, with the end .aasx, .json or .xml")
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			query, err := conn.selection(ctx, args)
			if err != nil {
				return err
			}
			answer, err := conn.send(withSilence(ctx, bulkSilence), http.MethodGet, "/api/v3.1/serialization", query, http.Header{"Accept": {kind}}, nil)
			if err := check(answer, err); err != nil {
				return err
			}
			return c.save(answer, file, force)
		}}
}

// selection names shells and the submodels that they refer to.
func (conn *connection) selection(ctx context.Context, ids []string) (url.Values, error) {
	query := url.Values{}
	seen := map[string]bool{}
	for _, id := range ids {
		s, _, err := get[aas.Shell](conn.GetShell(ctx, id, nil))
		if err != nil {
			return nil, err
		}
		query.Add("aasIds", encoded(s.ID))
		for _, ref := range s.Submodels {
			if n := len(ref.Keys); n > 0 && !seen[ref.Keys[n-1].Value] {
				seen[ref.Keys[n-1].Value] = true
				query.Add("submodelIds", encoded(ref.Keys[n-1].Value))
			}
		}
	}
	return query, nil
}

func encoded(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }
