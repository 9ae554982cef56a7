// Package drivers manages drivers while the engine runs: they are defined, changed, enabled, tried and removed, and the
// definitions are stored.
//
// A [Service] has two kinds of drivers that it knows by definition. Those of the settings file are the file's: they are shown, and
// cannot be changed. Those that were created by calls are kept in a [Repository], which is the truth: what it has taken is there
// after the next start, whatever happens in between. If both have the same id, the settings win, and the stored one is shown as
// shadowed. A third kind belongs to other parts of the program, such as a bound bridge; the service shows their status only.
//
// A change of one driver does not touch the others. A definition that cannot be used any more, because its type is unknown or its
// settings are not valid, does not stop the engine: it is listed with its error.
package drivers
