package derived

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/otkit/otkit/tags"
)

// program is a compiled expression. It is evaluated by one goroutine at a time.
type program struct {
	code   *vm.Program
	inputs []string        // names of the tags that it mentions, each once
	kinds  []tags.DataType // of the inputs, as it was compiled; empty for one that was not known
	result tags.DataType   // empty if it is known only when the expression is evaluated

	in  []*source // of the inputs
	use *usage    // of the evaluation in progress
}

// disabled are the functions of expr itself.
var disabled = func() map[string]bool {
	all := make(map[string]bool, len(builtin.Builtins))
	for _, f := range builtin.Builtins {
		all[f.Name] = true
	}
	return all
}()

// env is that of all expressions: there are no variables.
var env = map[string]any{}

// parse reads an expression and finds the tags that it mentions.
func parse(text string, kind func(name string) tags.DataType) (*program, *parser.Tree, *conf.Config, error) {
	c := &conf.Config{MaxNodes: MaxNodes, ShortCircuit: true, Functions: make(conf.FunctionsTable), Disabled: disabled}
	c.WithEnv(env)
	tree, err := parser.ParseWithConfig(text, c)
	if err != nil {
		return nil, nil, nil, located(err)
	}
	p := &program{}
	rewriter := &rewriter{program: p, kind: kind, functions: c.Functions, made: make(map[ast.Node]bool)}
	ast.Walk(&tree.Node, rewriter)
	switch {
	case rewriter.err != nil:
		return nil, nil, nil, rewriter.err
	case len(p.inputs) == 0:
		return nil, nil, nil, errors.New(`uses no tag; one is named as tag("line1.speed")`)
	}
	return p, tree, c, nil
}

// inputsOf returns the names of the tags that an expression mentions, each once.
func inputsOf(text string) ([]string, error) {
	p, _, _, err := parse(text, func(string) tags.DataType { return "" })
	if err != nil {
		return nil, err
	}
	return p.inputs, nil
}

// compile compiles an expression. kind returns the type of a tag, empty if it is not known. The error is of the text, for people.
func compile(text string, kind func(name string) tags.DataType) (*program, error) {
	p, tree, c, err := parse(text, kind)
	if err != nil {
		return nil, err
	}
	if _, err := checker.Check(tree, c); err != nil {
		return nil, located(err)
	}
	if p.code, err = compiler.Compile(tree, c); err != nil {
		return nil, located(err)
	}
	p.result = dataType(tree.Node.Type())
	return p, nil
}

// plainWords are our names of the types of operands.
var plainWords = strings.NewReplacer("float64", "Float", "int", "Int", "bool", "Bool", "string", "String")

// located returns an error of expr with its place in one line.
func located(err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return err
	}
	message, _, _ := strings.Cut(at.Message, "\n")
	switch {
	case strings.HasPrefix(message, "unexpected token EOF"):
		message = "unexpected token: the expression ends too early"
	case strings.Contains(message, "mismatched types"):
		message = plainWords.Replace(message)
	}
	return fmt.Errorf("%s (line %d, column %d)", message, at.Line, at.Column+1)
}

func (f function) builtin(name string) *builtin.Function {
	return &builtin.Function{Name: name, Func: f.call, Validate: func(args []reflect.Type) (reflect.Type, error) {
		t, err := f.validate(args)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", shown(name), strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		return t, nil
	}}
}

// shown returns how people write a function.
func shown(name string) string {
	for operator, f := range operators {
		if f == name && operator != "^" {
			return operator
		}
	}
	return strings.TrimLeft(strings.TrimPrefix(name, "$"), "0123456789")
}

// rewriter replaces operators and what is about tags by functions, and refuses what expressions must not have.
type rewriter struct {
	program   *program
	kind      func(name string) tags.DataType
	functions conf.FunctionsTable
	made      map[ast.Node]bool // by replace; what is compared twice, as in 1 < x < 2, is visited twice
	err       error
}

func (r *rewriter) refuse(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// Visit implements ast.Visitor. Children come before their parents.
func (r *rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConditionalNode, *ast.VariableDeclaratorNode:
	case *ast.NilNode:
		if !r.made[n] {
			r.refuse("nil is not supported")
		}
	case *ast.IdentifierNode:
		if strings.HasPrefix(n.Value, "$") && !r.made[n] {
			r.refuse("%s is not known", n.Value)
		}
	case *ast.UnaryNode:
		switch n.Operator {
		case "-":
			r.replace(node, "$neg", operatorFunctions["$neg"], n.Node)
		case "not", "!":
		default:
			r.refuse("the operator %s is not supported", n.Operator)
		}
	case *ast.BinaryNode:
		if name, ok := operators[n.Operator]; ok {
			r.replace(node, name, operatorFunctions[name], n.Left, n.Right)
		} else if !plainOperators[n.Operator] {
			r.refuse("the operator %s is not supported", n.Operator)
		}
	case *ast.CallNode:
		if !r.made[n] {
			r.call(node, n)
		}
	case *ast.MemberNode:
		r.refuse(`lists, maps, members and loops are not supported; the name of a tag is a text in quotes: tag("line1.speed")`)
	default:
		r.refuse("lists, maps, members and loops are not supported")
	}
}

func (r *rewriter) replace(node *ast.Node, name string, f function, args ...ast.Node) {
	r.functions[name] = f.builtin(name)
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	r.made[call], r.made[call.Callee] = true, true
	ast.Patch(node, call)
}

func (r *rewriter) call(node *ast.Node, n *ast.CallNode) {
	name, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		r.refuse("only functions can be called")
		return
	}
	about, ok := aboutTags[name.Value]
	switch {
	case !ok && name.Value != "default":
		f, known := functions[name.Value]
		if !known {
			r.refuse("the function %s is not known", name.Value)
			return
		}
		r.replace(node, name.Value, f, n.Arguments...)
		return
	case name.Value == "default" && len(n.Arguments) != 2 || ok && len(n.Arguments) != 1:
		r.refuse("%s has another number of arguments", name.Value)
		return
	}
	i, ok := r.input(n.Arguments[0], name.Value)
	if !ok {
		return
	}
	if name.Value == "default" {
		r.fallback(node, i, n.Arguments[1])
		return
	}
	r.replace(node, "$"+strconv.Itoa(i)+name.Value, about(r.program, i))
}

// fallback makes the value of an input, or another one that is computed only while the input cannot be used: what is wrong with the other
// does not count until then.
func (r *rewriter) fallback(node *ast.Node, i int, other ast.Node) {
	prefix := "$" + strconv.Itoa(i)
	usable := other // as for its place in the text
	r.replace(&usable, prefix+"usable", r.program.usable(i))
	none := &ast.NilNode{}
	r.made[none] = true
	r.replace(node, prefix+"default", r.program.fallback(i), &ast.ConditionalNode{Cond: usable, Exp1: none, Exp2: other})
}

// input returns the index of the input that an argument names: as a text, or as tag of a text.
func (r *rewriter) input(arg ast.Node, function string) (int, bool) {
	switch n := arg.(type) {
	case *ast.StringNode:
		i := slices.Index(r.program.inputs, n.Value)
		if i < 0 {
			i = len(r.program.inputs)
			r.program.inputs = append(r.program.inputs, n.Value)
			r.program.kinds = append(r.program.kinds, r.kind(n.Value))
			if r.program.kinds[i] == tags.Bytes && function != "good" && function != "quality" {
				r.refuse("tag %q is of type Bytes, which expressions cannot use", n.Value)
			}
		}
		return i, true
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok && function != "tag" {
			if digits, isTag := strings.CutSuffix(strings.TrimPrefix(name.Value, "$"), "tag"); isTag && digits != name.Value {
				if i, err := strconv.Atoi(digits); err == nil {
					return i, true
				}
			}
		}
	}
	r.refuse(`%s needs the name of a tag as a text, such as %s("line1.speed")`, function, function)
	return 0, false
}
