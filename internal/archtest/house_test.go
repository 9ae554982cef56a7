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
		if len(files) > maxFiles {
			t.Errorf("%s has %d files, of %d: divide it", dir, len(files), maxFiles)
		}
	}
}

// Every exported name has a comment.
func TestExportedNamesHaveComments(t *testing.T) {
	for _, files := range sources(t) {
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

// Every package that others can import has a doc.go with the package's comment, and an Example.
func TestPublicPackagesHaveADocAndAnExample(t *testing.T) {
	example := regexp.MustCompile(`(?m)^func Example(_?[A-Za-z0-9_]+)?\(\) \{`)
	for dir, files := range sources(t) {
		top, _, _ := strings.Cut(dir, "/")
		if top == "cmd" || top == "examples" || slices.Contains(strings.Split(dir, "/"), "internal") {
			continue
		}
		if !slices.ContainsFunc(files, hasPackageComment(t)) {
			t.Errorf("%s has no doc.go with a comment of the package", dir)
		}
		tests, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		require.NoError(t, err)
		if !slices.ContainsFunc(tests, func(file string) bool {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			return example.Match(text)
		}) {
			t.Errorf("%s has no Example", dir)
		}
	}
}

// hasPackageComment returns a function that reports whether a file is a doc.go with a comment of its package.
func hasPackageComment(t *testing.T) func(file string) bool {
	return func(file string) bool {
		if filepath.Base(file) != "doc.go" {
			return false
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", file), nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		return f.Doc != nil && strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ")
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
