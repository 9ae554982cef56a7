package derived

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/tags"
)

// In an expression, an Int is an int64, or an int where it is a constant; the rest are bool, float64 and string. The type of
// what is not known before the evaluation is any.
var (
	boolType   = reflect.TypeFor[bool]()
	intType    = reflect.TypeFor[int64]()
	floatType  = reflect.TypeFor[float64]()
	stringType = reflect.TypeFor[string]()
	anyType    = reflect.TypeFor[any]()
)

func typeOf(t tags.DataType) reflect.Type {
	switch t {
	case tags.Bool:
		return boolType
	case tags.Int:
		return intType
	case tags.Float:
		return floatType
	case tags.String:
		return stringType
	}
	return anyType
}

// dataType returns the data type of an expression's type, empty if it is known only when the expression is evaluated.
func dataType(t reflect.Type) tags.DataType {
	switch t.Kind() {
	case reflect.Bool:
		return tags.Bool
	case reflect.Int, reflect.Int64:
		return tags.Int
	case reflect.Float64:
		return tags.Float
	case reflect.String:
		return tags.String
	}
	return ""
}

func isNumber(t reflect.Type) bool {
	k := dataType(t)
	return k == "" || k == tags.Int || k == tags.Float
}

// function is one function or operator of expressions.
type function struct {
	validate func(args []reflect.Type) (reflect.Type, error)
	call     func(args ...any) (any, error)
}

// errNumber is the error of a result that is not a number.
var errNumber = errors.New("the result is not a number")

func errType(v any, want string) error { return fmt.Errorf("%s is needed, not %v", want, show(v)) }

func show(v any) any {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return v
}

// integer returns an Int, and reports whether v is one.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	}
	return 0, false
}

// float returns a number as a Float, and reports whether v is one.
func float(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errNumber
	}
	return f, nil
}

func whole(f float64) (any, error) {
	if math.IsNaN(f) || f < -1<<63 || f >= 1<<63 {
		return nil, errors.New("the result does not fit an Int")
	}
	return int64(f), nil
}

func text(s string) (any, error) {
	if len(s) > MaxTextBytes {
		return nil, fmt.Errorf("the text is longer than %d bytes", MaxTextBytes)
	}
	return s, nil
}

func count(args []reflect.Type, least, most int) error {
	switch {
	case len(args) >= least && len(args) <= most:
		return nil
	case least == most:
		return fmt.Errorf("needs %d arguments, not %d", least, len(args))
	}
	return fmt.Errorf("needs %d to %d arguments, not %d", least, most, len(args))
}

func allNumbers(args []reflect.Type) error {
	for _, t := range args {
		if !isNumber(t) {
			return fmt.Errorf("a number is needed, not a %s", dataType(t))
		}
	}
	return nil
}

// both returns the type of an operation of numbers: Int if all are, Float if one is, any if that is not known.
func both(args []reflect.Type) reflect.Type {
	result := intType
	for _, t := range args {
		switch dataType(t) {
		case tags.Float:
			return floatType
		case "":
			result = anyType
		}
	}
	return result
}

// ofFloats is a function of numbers whose result is a Float.
func ofFloats(n int, f func(x []float64) (any, error)) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			return floatType, errors.Join(count(args, n, n), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			var x [5]float64
			for i, a := range args {
				v, ok := float(a)
				if !ok {
					return nil, errType(a, "a number")
				}
				x[i] = v
			}
			return f(x[:n])
		},
	}
}

func ofFloat(f func(x float64) float64) function {
	return ofFloats(1, func(x []float64) (any, error) { return number(f(x[0])) })
}

// toInt is a function of a number whose result is an Int.
func toInt(f func(x float64) float64) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			return intType, errors.Join(count(args, 1, 1), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			if n, ok := integer(args[0]); ok {
				return n, nil
			}
			x, ok := float(args[0])
			if !ok {
				return nil, errType(args[0], "a number")
			}
			return whole(f(x))
		},
	}
}

func ofText(result reflect.Type, f func(s string) (any, error)) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			if err := count(args, 1, 1); err != nil {
				return nil, err
			}
			if k := dataType(args[0]); k != "" && k != tags.String {
				return nil, fmt.Errorf("a String is needed, not a %s", k)
			}
			return result, nil
		},
		call: func(args ...any) (any, error) {
			s, ok := args[0].(string)
			if !ok {
				return nil, errType(args[0], "a String")
			}
			return f(s)
		},
	}
}

// functions are those that people may call.
var functions = map[string]function{
	"abs": {
		validate: func(args []reflect.Type) (reflect.Type, error) {
			return both(args), errors.Join(count(args, 1, 1), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			if n, ok := integer(args[0]); ok && n >= 0 {
				return n, nil
			} else if ok {
				return negate(n)
			}
			x, ok := float(args[0])
			if !ok {
				return nil, errType(args[0], "a number")
			}
			return math.Abs(x), nil
		},
	},
	"min":   extreme(func(a, b any) bool { return less(a, b) }),
	"max":   extreme(func(a, b any) bool { return less(b, a) }),
	"sqrt":  ofFloat(math.Sqrt),
	"exp":   ofFloat(math.Exp),
	"ln":    ofFloat(math.Log),
	"log10": ofFloat(math.Log10),
	"pow":   ofFloats(2, func(x []float64) (any, error) { return number(math.Pow(x[0], x[1])) }),
	"clamp": {
		validate: func(args []reflect.Type) (reflect.Type, error) {
			return both(args), errors.Join(count(args, 3, 3), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			low, err := highest(args[0], args[1])
			if err != nil {
				return nil, err
			}
			return lowest(low, args[2])
		},
	},
	"scale": ofFloats(5, func(x []float64) (any, error) {
		return number((x[0]-x[1])/(x[2]-x[1])*(x[4]-x[3]) + x[3])
	}),
	"floor": toInt(math.Floor),
	"ceil":  toInt(math.Ceil),
	"round": {
		validate: func(args []reflect.Type) (reflect.Type, error) {
			if len(args) == 1 {
				return intType, allNumbers(args)
			}
			return floatType, errors.Join(count(args, 1, 2), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			if len(args) == 1 {
				return rounded.call(args[0])
			}
			x, ok := float(args[0])
			digits, whole := integer(args[1])
			if !ok || !whole || digits < 0 || digits > 15 {
				return nil, errType(args[1], "0 to 15 digits")
			}
			unit := math.Pow10(int(digits))
			if r := math.Round(x*unit) / unit; !math.IsInf(r, 0) {
				x = r
			}
			return number(x)
		},
	},
	"int": {
		validate: func(args []reflect.Type) (reflect.Type, error) { return intType, count(args, 1, 1) },
		call: func(args ...any) (any, error) {
			switch v := args[0].(type) {
			case bool:
				return int64(map[bool]int{true: 1}[v]), nil
			case string:
				n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				if err != nil {
					return nil, errType(v, "an Int")
				}
				return n, nil
			}
			return truncated.call(args[0])
		},
	},
	"float": {
		validate: func(args []reflect.Type) (reflect.Type, error) { return floatType, count(args, 1, 1) },
		call: func(args ...any) (any, error) {
			switch v := args[0].(type) {
			case bool:
				return float64(map[bool]int{true: 1}[v]), nil
			case string:
				f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					return nil, errType(v, "a number")
				}
				return number(f)
			}
			f, _ := float(args[0])
			return f, nil
		},
	},
	"bit": {
		validate: func(args []reflect.Type) (reflect.Type, error) {
			if err := count(args, 2, 2); err != nil {
				return nil, err
			}
			for _, t := range args {
				if k := dataType(t); k != "" && k != tags.Int {
					return nil, fmt.Errorf("an Int is needed, not a %s", k)
				}
			}
			return boolType, nil
		},
		call: func(args ...any) (any, error) {
			v, ok := integer(args[0])
			if !ok {
				return nil, errType(args[0], "an Int")
			}
			n, ok := integer(args[1])
			if !ok || n < 0 || n > 63 {
				return nil, errType(args[1], "a bit of 0 to 63")
			}
			return uint64(v)>>uint(n)&1 == 1, nil
		},
	},
	"string": {
		validate: func(args []reflect.Type) (reflect.Type, error) { return stringType, count(args, 1, 1) },
		call: func(args ...any) (any, error) {
			if f, ok := args[0].(float64); ok {
				return strconv.FormatFloat(f, 'g', -1, 64), nil
			}
			return text(fmt.Sprint(args[0]))
		},
	},
	"lower": ofText(stringType, func(s string) (any, error) { return text(strings.ToLower(s)) }),
	"upper": ofText(stringType, func(s string) (any, error) { return text(strings.ToUpper(s)) }),
	"trim":  ofText(stringType, func(s string) (any, error) { return strings.TrimSpace(s), nil }),
	"len":   ofText(intType, func(s string) (any, error) { return int64(utf8.RuneCountInString(s)), nil }),
}

var (
	rounded   = toInt(math.Round)
	truncated = toInt(math.Trunc)
)

// extreme returns the first of two or more numbers of which none is before it.
func extreme(before func(a, b any) bool) function {
	return function{
		validate: func(args []reflect.Type) (reflect.Type, error) {
			return both(args), errors.Join(count(args, 2, 20), allNumbers(args))
		},
		call: func(args ...any) (any, error) {
			found, floats := args[0], false
			for _, a := range args {
				if _, ok := float(a); !ok {
					return nil, errType(a, "a number")
				}
				_, isInt := integer(a)
				floats = floats || !isInt
				if before(a, found) {
					found = a
				}
			}
			if f, _ := float(found); floats {
				return f, nil
			}
			return found, nil
		},
	}
}

var (
	lowestOf  = extreme(func(a, b any) bool { return less(a, b) })
	highestOf = extreme(func(a, b any) bool { return less(b, a) })
)

func lowest(args ...any) (any, error)  { return lowestOf.call(args...) }
func highest(args ...any) (any, error) { return highestOf.call(args...) }
