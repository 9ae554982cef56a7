package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exported New that takes something that may be nil, beside options, is called with nil in
// TestConstructorsNameWhatIsMissing.
// What a nil means instead of an error is tried there with the options that need it.
func TestEveryConstructorIsTriedWithNil(t *testing.T) {
	text, err := os.ReadFile("nil_test.go")
	require.NoError(t, err)
	tried, err := parser.ParseFile(token.NewFileSet(), "nil_test.go", text, parser.ImportsOnly)
	require.NoError(t, err)
	names := make(map[string]string) // of imported packages, by path
	for _, i := range tried.Imports {
		imported := strings.Trim(i.Path.Value, `"`)
		names[imported] = path.Base(imported)
		if i.Name != nil {
			names[imported] = i.Name.Name
		}
	}
	for dir, files := range sources(t) {
		if anyBelow(dir, []string{"cmd", "examples", "internal", "openapi", "proto"}) || strings.Contains(dir+"/", "/internal/") || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, file := range files {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, decl := range parsed.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "New") || !fails(f) || !takesWhatMayBeNil(f) {
					continue
				}
				if !strings.Contains(string(text), " "+names[module+dir]+"."+f.Name.Name+"(") {
					t.Errorf("%s: %s.%s is not tried with nil: add it to nil_test.go", set.Position(f.Pos()), dir, f.Name.Name)
				}
			}
		}
	}
}

// fails reports whether the last result of a function is an error.
func fails(f *ast.FuncDecl) bool {
	if f.Type.Results == nil {
		return false
	}
	last, ok := f.Type.Results.List[len(f.Type.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// takesWhatMayBeNil reports whether a parameter is a pointer or a named type that is neither basic, nor options, nor a
// context. Which named types are interfaces cannot be seen here.
func takesWhatMayBeNil(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		switch x := p.Type.(type) {
		case *ast.StarExpr:
			return true
		case *ast.Ident:
			if ast.IsExported(x.Name) && !strings.HasSuffix(x.Name, "Options") {
				return true
			}
		case *ast.SelectorExpr:
			if !slices.Contains([]string{"Context", "Duration", "Time"}, x.Sel.Name) && !strings.HasSuffix(x.Sel.Name, "Options") {
				return true
			}
		}
	}
	return false
}
