package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/verify"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
)

const aasUsage = `aas import [-config FILE] [-data DIR] [-replace] [-verify off|permissive|strict] [-max-mib N] FILE|DIR...
       engine aas export [-config FILE] [-data DIR] [-shell ID] [-submodel ID] FILE   (AASX, JSON or XML by its extension)`

// shells brings shells and submodels in and out, also beside a running engine.
func (c *command) shells(ctx context.Context, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch verb {
	case "import":
		return c.importShells(ctx, args[1:])
	case "export":
		return c.exportShells(ctx, args[1:])
	}
	fmt.Fprintln(c.errOut, "usage: engine "+aasUsage)
	return flag.ErrHelp
}

func (c *command) importShells(ctx context.Context, args []string) error {
	f := c.flags("aas import", aasUsage)
	replace := f.Bool("replace", false, "take the place of shells, submodels and concept descriptions that are there")
	how := f.String("verify", string(aas.VerifyPermissive), "what becomes of documents that break a `RULE` of the metamodel: off, permissive (told) or strict (refused)")
	most := f.Int64("max-mib", 1024, "the most `MIB` that a package may expand to, and that its files may take once they are kept")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *most < 1 || *most > mostMiB {
		return fmt.Errorf("aas import: -max-mib must be 1 to %d", mostMiB)
	}
	if f.NArg() == 0 {
		return errors.New("aas import takes the names of files or directories, after the flags")
	}
	files, err := documents(f.Args())
	if err != nil {
		return err
	}
	s, err := c.settings(nil)
	if err != nil {
		return err
	}
	db, err := c.openEither(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	service, err := aas.NewService(db.AAS(), aas.Options{Verification: aas.Verification(*how), Verifier: verify.New(verify.Options{}),
		MaxFileBytes: s.AAS.MaxFileBytes})
	if err != nil {
		return err
	}
	defer func() { _ = service.Close() }()
	limits, options := importLimits, aas.ImportOptions{Replace: *replace, MaxBytes: *most << 20}
	limits.MaxFileBytes, limits.MaxTotalBytes = s.AAS.MaxFileBytes, options.MaxBytes
	failed := 0
	for _, name := range files {
		if err := c.importFile(ctx, service, name, limits, options); err != nil {
			if ctx.Err() != nil || len(files) == 1 {
				return err
			}
			fmt.Fprintln(c.errOut, oneLine(err))
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files were not imported", failed, len(files))
	}
	return nil
}

// documents gives the files that are named, and those with a known extension in and below the
// directories that are.
func documents(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if _, known := exchange.FormatOf(name); !known {
				return nil, fmt.Errorf("%s: the name must end with .aasx, .json or .xml", name)
			}
			files = append(files, name)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if _, known := exchange.FormatOf(path); err == nil && known && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s has no file whose name ends with .aasx, .json or .xml", name)
		}
	}
	return files, nil
}

// importLimits are those of a file that an operator names, besides those of its files: whatever the engine
// exports can be read again, also what compresses very well.
var importLimits = aasx.Limits{
	MaxParts: 1_000_000, MaxPartBytes: 4 << 30, MaxRatio: 1100,
	XML: aasxml.Limits{MaxBytes: 4 << 30, MaxElements: exportLimits.MaxElements},
}

const mostMiB = 1 << 20

// exportLimits are above what the memory of a machine holds.
var exportLimits = exchange.Selection{MaxDocuments: 100_000_000, MaxBytes: 64 << 30, MaxElements: 1_000_000_000, MaxFileBytes: 64 << 30}

func (c *command) importFile(ctx context.Context, service *aas.Service, name string, l aasx.Limits, o aas.ImportOptions) error {
	format, _ := exchange.FormatOf(name)
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p, err := exchange.Read(file, info.Size(), format, l)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.KeepUnnamed = format != exchange.AASX
	r, err := exchange.Import(ctx, service, p, o)
	if err != nil {
		return fmt.Errorf("%s: nothing of it was imported: %w", name, err)
	}
	fmt.Fprintf(c.out, "%s: %d created, %d replaced, %d files", name, r.Created, r.Replaced, r.Files)
	if len(r.Unused) > 0 {
		fmt.Fprintf(c.out, ", %d files that no element names and no shell could take left out", len(r.Unused))
	}
	fmt.Fprintln(c.out)
	for _, finding := range r.Findings {
		fmt.Fprintf(c.out, "  %s %s\n", finding.Field, finding.Message)
	}
	return nil
}

// openEither opens the database of an engine that may be running, and makes one where there is none.
func (c *command) openEither(ctx context.Context, s settings.Engine) (*storage.DB, error) {
	if existing(s) == nil {
		db, err := openBeside(ctx, s)
		if !errors.Is(err, storage.ErrNoTables) {
			return db, err
		}
	}
	return c.openStorage(ctx, s, nil)
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return fmt.Sprint(*l) }

func (l *list) Set(v string) error {
	*l = append(*l, v)
	return nil
}

func (c *command) exportShells(ctx context.Context, args []string) error {
	f := c.flags("aas export", aasUsage)
	var shells, submodels list
	f.Var(&shells, "shell", "`ID` of a shell to export with its submodels; may be given several times (default: everything)")
	f.Var(&submodels, "submodel", "`ID` of a submodel to export; may be given several times")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("aas export takes the name of the file to write, after the flags")
	}
	name := f.Arg(0)
	format, known := exchange.FormatOf(name)
	if !known {
		return fmt.Errorf("%s: the name must end with .aasx, .json or .xml", name)
	}
	s, err := c.settings(nil)
	if err != nil {
		return err
	}
	if err := existing(s); err != nil {
		return err
	}
	db, err := openBeside(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	service, err := aas.NewService(db.AAS(), aas.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = service.Close() }()
	selection := exportLimits
	selection.Shells, selection.Submodels = shells, submodels
	selection.WithSubmodels, selection.WithConcepts, selection.WithFiles = true, true, format == exchange.AASX
	p, err := exchange.Gather(ctx, service, selection)
	if err != nil {
		return err
	}
	if err := writeNew(name, func(w *os.File) error { return exchange.Write(w, p, format) }); err != nil {
		return err
	}
	env := &p.Environment
	fmt.Fprintf(c.out, "%s: %d shells, %d submodels, %d concept descriptions, %d files\n",
		name, len(env.Shells), len(env.Submodels), len(env.ConceptDescriptions), len(p.Files))
	return nil
}

// writeNew writes a file that is not there yet: all of it or, after an error, none.
func writeNew(name string, write func(*os.File) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
