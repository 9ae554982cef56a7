package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/storage/aasstore"
)

const aasUsage = `aas import [-config FILE] [-data DIR] [-replace] [-verify off|permissive|strict] [-max-mib N] FILE|DIR...
       engine aas export [-config FILE] [-data DIR] [-shell ID] [-submodel ID] [-metamodel 3.1|3.0] FILE   (AASX, JSON or XML by its extension)`

// shells imports and exports shells and submodels, also beside a running engine.
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
	return program.ErrUsage
}

func (c *command) importShells(ctx context.Context, args []string) error {
	f := c.flags("aas import", aasUsage)
	replace := f.Bool("replace", false, "replace existing shells, submodels and concept descriptions")
	how := f.String("verify", string(repository.VerifyPermissive), "handling of documents that break a `RULE` of the metamodel: off, permissive (printed) or strict (refused)")
	limit := f.Int64("max-mib", 1024, "`MIB` that a package may expand to at most, and that its files may take once stored")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *limit < 1 || *limit > maxMiB {
		return fmt.Errorf("aas import: -max-mib must be 1 to %d", maxMiB)
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
	db, err := openOrCreate(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := aasstore.New(db)
	if err != nil {
		return err
	}
	service, err := repository.New(store, repository.Options{Verification: repository.Verification(*how),
		MaxFileBytes: s.AAS.MaxFileBytes})
	if err != nil {
		return err
	}
	defer func() { _ = service.Close(context.Background()) }()
	limits, options := importLimits, repository.ImportOptions{Replace: *replace, MaxBytes: *limit << 20}
	limits.MaxFileBytes, limits.MaxTotalBytes = s.AAS.MaxFileBytes, options.MaxBytes
	failed := 0
	for _, name := range files {
		if err := c.importFile(ctx, service, name, limits, options); err != nil {
			if ctx.Err() != nil || len(files) == 1 {
				return err
			}
			fmt.Fprintln(c.errOut, program.OneLine(err))
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files were not imported", failed, len(files))
	}
	return nil
}

// documents returns the named files, and those with a known extension in and below the named directories.
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
// exports can be imported again, also what compresses very well.
var importLimits = aasx.Limits{
	MaxParts: 1_000_000, MaxPartBytes: 4 << 30, MaxRatio: 1100,
	XML: aasxml.Limits{MaxBytes: 4 << 30, MaxElements: exportLimits.MaxElements},
}

const maxMiB = 1 << 20

// exportLimits are above what the memory of a machine holds.
var exportLimits = exchange.Selection{MaxDocuments: 100_000_000, MaxBytes: 64 << 30, MaxElements: 1_000_000_000, MaxFileBytes: 64 << 30}

func (c *command) importFile(ctx context.Context, service *repository.Service, name string, l aasx.Limits, o repository.ImportOptions) error {
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
		return fmt.Errorf("%s: nothing was imported: %w", name, err)
	}
	fmt.Fprintf(c.out, "%s: %d created, %d replaced, %d files", name, r.Created, r.Replaced, r.Files)
	if len(r.Unused) > 0 {
		fmt.Fprintf(c.out, ", %d files omitted: no element names them and no shell could take them", len(r.Unused))
	}
	fmt.Fprintln(c.out)
	for _, finding := range r.Findings {
		fmt.Fprintf(c.out, "  %s %s\n", finding.Field, finding.Message)
	}
	return nil
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
	model := f.String("metamodel", "3.1", "`version` of the metamodel, 3.1 or 3.0; 3.0 is for older tools and omits or replaces what came later")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *model != "3.1" && *model != "3.0" {
		return fmt.Errorf("aas export: -metamodel must be 3.1 or 3.0, not %q", *model)
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
	db, err := openExisting(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	store, err := aasstore.New(db)
	if err != nil {
		return err
	}
	service, err := repository.New(store, repository.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = service.Close(context.Background()) }()
	selection := exportLimits
	selection.Shells, selection.Submodels = shells, submodels
	selection.WithSubmodels, selection.WithConcepts, selection.WithFiles = true, true, format == exchange.AASX
	p, err := exchange.Export(ctx, service, selection)
	if err != nil {
		return err
	}
	omitted := 0
	err = writeNew(name, func(w *os.File) (err error) {
		if *model == "3.1" {
			return exchange.Write(w, p, format)
		}
		omitted, err = exchange.WriteV30(w, p, format)
		return err
	})
	if err != nil {
		return err
	}
	if omitted > 0 {
		fmt.Fprintf(c.out, "%s: %d parts that metamodel 3.0 has no form for are omitted or replaced\n", name, omitted)
	}
	env := &p.Environment
	fmt.Fprintf(c.out, "%s: %d shells, %d submodels, %d concept descriptions, %d files\n",
		name, len(env.Shells), len(env.Submodels), len(env.ConceptDescriptions), len(p.Files))
	return nil
}

// writeNew writes a new file: all of it or, after an error, nothing.
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
