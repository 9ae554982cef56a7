package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxFiles is how many files a package may have, tests and generated code left out: it is then about one thing.
const maxFiles = 30

// manyFiles are the packages that still have more. None may be added.
var manyFiles = []string{"alarms", "tags"}

// uncommented are the packages, from the module's root, where exported names still lack comments. None may be added.
var uncommented = []string{"storage/accountstore", "storage/alertstore"}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// sources are the Go files of each folder that has any, tests and generated code left out.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	root := os.DirFS("../..")
	all := make(map[string][]string)
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || len(path) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err == nil && !generated.Match(text) {
			all[filepath.ToSlash(filepath.Dir(path))] = append(all[filepath.ToSlash(filepath.Dir(path))], path)
		}
		return err
	}))
	return all
}

func TestNoPackageHasTooManyFiles(t *testing.T) {
	for dir, files := range sources(t) {
		switch known := slices.Contains(manyFiles, dir); {
		case len(files) > maxFiles && !known:
			t.Errorf("%s has %d files, of %d: divide it", dir, len(files), maxFiles)
		case len(files) <= maxFiles && known:
			t.Logf("%s has %d files: take it out of manyFiles", dir, len(files))
		}
	}
}

// Every exported name has a comment.
func TestExportedNamesHaveComments(t *testing.T) {
	for dir, files := range sources(t) {
		if slices.Contains(uncommented, dir) {
			continue
		}
		for _, file := range files {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, filepath.Join("../..", file), nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			if parsed.Name.Name == "main" {
				continue
			}
			for _, name := range lacking(parsed) {
				t.Errorf("%s: %s has no comment", set.Position(name.Pos()), name.Name)
			}
		}
	}
}

// lacking are the exported names at the top of a file that have no comment.
func lacking(f *ast.File) (names []*ast.Ident) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if d.Doc == nil && s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
						names = append(names, s.Name)
					}
				case *ast.ValueSpec:
					if d.Doc == nil && s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
						names = append(names, s.Names[0])
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(list *ast.FieldList) bool {
	t := list.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
