package derived

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"reflect"

	"github.com/otkit/otkit/tags"
)

// The operators of expr wrap around on overflow, divide by zero to infinity and use the machine's int. These do not.
var operators = map[string]string{
	"+": "$add", "-": "$sub", "*": "$mul", "/": "$div", "%": "$mod", "**": "$pow", "^": "$pow",
	"==": "$eq", "!=": "$ne", "<": "$lt", "<=": "$le", ">": "$gt", ">=": "$ge",
}

// plainOperators are those of expr that are used as they are.
var plainOperators = map[string]bool{"and": true, "&&": true, "or": true, "||": true, "contains": true, "startsWith": true, "endsWith": true, "matches": true}

var operatorFunctions = map[string]function{
	"$add": {
		validate: func(args []reflect.Type) (reflect.Type, error) {
			a, b := dataType(args[0]), dataType(args[1])
			if fits := a == "" || b == ""; fits && (a == tags.String || b == tags.String) || a == tags.String && b == tags.String {
				return stringType, nil
			}
			return both(args), allNumbers(args)
		},
		call: func(args ...any) (any, error) {
			a, ok := args[0].(string)
			if b, also := args[1].(string); ok && also {
				return text(a + b)
			}
			return arithmetic(args, addInts, func(a, b float64) float64 { return a + b })
		},
	},
	"$sub": numeric(subInts, func(a, b float64) float64 { return a - b }),
	"$mul": numeric(mulInts, func(a, b float64) float64 { return a * b }),
	"$mod": numeric(func(a, b int64) (int64, bool) {
		if b == 0 {
			return 0, false
		}
		if b == -1 {
			return 0, true
		}
		return a % b, true
	}, math.Mod),
	"$div": {
		validate: func(args []reflect.Type) (reflect.Type, error) { return floatType, allNumbers(args) },
		call: func(args ...any) (any, error) {
			a, ok := float(args[0])
			if !ok {
				return nil, errType(args[0], "a number")
			}
			b, ok := float(args[1])
			switch {
			case !ok:
				return nil, errType(args[1], "a number")
			case b == 0:
				return nil, errDivision
			}
			return number(a / b)
		},
	},
	"$pow": functions["pow"],
	"$neg": {
		validate: func(args []reflect.Type) (reflect.Type, error) { return both(args), allNumbers(args) },
		call: func(args ...any) (any, error) {
			if n, ok := integer(args[0]); ok {
				return negate(n)
			}
			f, ok := float(args[0])
			if !ok {
				return nil, errType(args[0], "a number")
			}
			return -f, nil
		},
	},
	"$eq": comparison(equatable, func(a, b any) bool { return equal(a, b) }),
	"$ne": comparison(equatable, func(a, b any) bool { return !equal(a, b) }),
	"$lt": comparison(ordered, func(a, b any) bool { return less(a, b) }),
	"$le": comparison(ordered, func(a, b any) bool { return !less(b, a) }),
	"$gt": comparison(ordered, func(a, b any) bool { return less(b, a) }),
	"$ge": comparison(ordered, func(a, b any) bool { return !less(a, b) }),
}

var (
	errDivision = errors.New("division by zero")
	errOverflow = errors.New("the result does not fit an Int")
)

func numeric(ints func(a, b int64) (int64, bool), floats func(a, b float64) float64) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) { return both(args), allNumbers(args) },
		call:     func(args ...any) (any, error) { return arithmetic(args, ints, floats) },
	}
}

func arithmetic(args []any, ints func(a, b int64) (int64, bool), floats func(a, b float64) float64) (any, error) {
	if a, ok := integer(args[0]); ok {
		if b, ok := integer(args[1]); ok {
			n, ok := ints(a, b)
			if !ok {
				return nil, errOverflow
			}
			return n, nil
		}
	}
	a, ok := float(args[0])
	if !ok {
		return nil, errType(args[0], "a number")
	}
	b, ok := float(args[1])
	if !ok {
		return nil, errType(args[1], "a number")
	}
	return number(floats(a, b))
}

func addInts(a, b int64) (int64, bool) { s := a + b; return s, (s > a) == (b > 0) }

func subInts(a, b int64) (int64, bool) { d := a - b; return d, (d < a) == (b > 0) }

func mulInts(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if negative := (a < 0) != (b < 0); negative {
		return -int64(low), high == 0 && low <= 1<<63
	}
	return int64(low), high == 0 && low < 1<<63
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func negate(n int64) (any, error) {
	if n == math.MinInt64 {
		return nil, errOverflow
	}
	return -n, nil
}

func comparison(fit func(a, b tags.DataType) bool, holds func(a, b any) bool) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			if a, b := dataType(args[0]), dataType(args[1]); a != "" && b != "" && !fit(a, b) {
				return nil, fmt.Errorf("a %s cannot be compared with a %s so", a, b)
			}
			return boolType, nil
		},
		call: func(args ...any) (any, error) {
			if !fit(kindOf(args[0]), kindOf(args[1])) {
				return nil, fmt.Errorf("%v cannot be compared with %v", show(args[0]), show(args[1]))
			}
			return holds(args[0], args[1]), nil
		},
	}
}

func kindOf(v any) tags.DataType {
	if v == nil {
		return ""
	}
	return dataType(reflect.TypeOf(v))
}

func ordered(a, b tags.DataType) bool {
	numbers := (a == tags.Int || a == tags.Float) && (b == tags.Int || b == tags.Float)
	return numbers || a == tags.String && b == tags.String
}

func equatable(a, b tags.DataType) bool { return ordered(a, b) || a == tags.Bool && b == tags.Bool }

func equal(a, b any) bool {
	if a == b {
		return true
	}
	return ordered(kindOf(a), kindOf(b)) && !less(a, b) && !less(b, a)
}

// less compares two numbers, exactly, or two texts.
func less(a, b any) bool {
	if x, ok := a.(string); ok {
		y, _ := b.(string)
		return x < y
	}
	n, aInt := integer(a)
	m, bInt := integer(b)
	if aInt && bInt {
		return n < m
	}
	x, _ := float(a)
	y, _ := float(b)
	if x != y || !aInt && !bInt {
		return x < y
	}
	return exact(a).Cmp(exact(b)) < 0 // the Int may have lost digits
}

func exact(v any) *big.Float {
	if n, ok := integer(v); ok {
		return new(big.Float).SetInt64(n)
	}
	f, _ := float(v)
	return big.NewFloat(f)
}
