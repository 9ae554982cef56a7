// Package derived computes tags from other tags. A [Definition] is an expression over tags, such as
//
//	tag("line1.flow") * 60
//
// or an alias: a second name for a tag. A [Service] stores the definitions, checks them and computes the values whenever an
// input changes; its [Driver] shows them as tags of the driver "derived", so that history, alarm rules and subscriptions work
// on them as on any tag.
//
// Expressions are those of github.com/expr-lang/expr without loops, collections and its own functions. They have:
//
//   - - * / % **  == != < <= > >=  and or not  ?:  let x = ...; x
//     contains, startsWith, endsWith, matches           on texts
//     tag("a.b")                                        the value of a tag
//     default(tag("a.b"), v)                            v while the tag is Bad
//     good("a.b"), quality("a.b")                       whether the tag is Good; "Good", "Uncertain" or "Bad"
//     delta("a.b"), rate("a.b")                         the last change of a tag; the same per second
//     abs, min, max, clamp(x, low, high), sqrt, exp, ln, log10, pow(x, y)
//     round(x), floor(x), ceil(x), int(x)               an Int
//     round(x, digits), float(x)                        a Float
//     scale(x, low, high, newLow, newHigh)              moves a range to another
//     bit(x, n)                                         whether bit n of an Int is set, from 0
//     string(x), lower, upper, trim, len
//
// The result is Bad while a tag that it uses is Bad, and Uncertain while one is Uncertain, with the reason of that tag. A tag
// counts only if the evaluation reaches it: good("a") ? tag("a") : tag("b") is Good while b is. Its time is the newest of
// its inputs. What is not a number (division by zero, overflow, the root of a negative number) is Bad with the reason
// TypeMismatch, and an input that does not exist ConfigError.
package derived
