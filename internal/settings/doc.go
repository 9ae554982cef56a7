// Package settings loads the settings of a server into a struct whose tags declare them.
//
// Sources override each other in this order: the defaults in the tags; a file in YAML or JSON; the environment; flags. The package is
// strict: a key that does not exist, a key given twice or a value that breaks a rule stops the start with an error that names the
// key and shows the value.
//
// # Declaration
//
// Fields are structs, lists of structs, strings, booleans, numbers, time.Duration, lists of those, and json.RawMessage for an
// object whose members belong to another package. Their tags are the only place where a setting is declared:
//
//	key:"..."       the name in lower camel case; required
//	default:"..."   the default, as in an environment variable; otherwise the zero value
//	rule:"..."      which values are allowed, see below
//	unique:"true"   items of a list of structs must differ in it
//	doc:"..."       the meaning in one line, for Reference
//	env:"NAME"      a second environment variable, weaker than the regular one; empty counts as absent
//	secret:"true"   never printed
//	secret:"url"    printed without the passwords in it: a URL or the key=value form of libpq
//
// A rule is "required" or, for
//
//	numbers and durations   ranges: 1..100, 1.., ..5, >0, >0..1, <0, 7; several with |, each with an explanation: 1..|-1 for no limit
//	strings                 words: sqlite|postgres; or a name: address (host:port), address or empty, token (fits into a header)
//
// The rule of a list applies to its items. What a tag cannot express, such as how settings go together, is in a method of the
// struct, see [Validator].
//
// # Names
//
// A key such as server.tls.certFile is found without regard to case. Its environment variable is Server__Tls__CertFile, in any
// case; items of lists have numbers: Drivers__0__Port. A list of plain values is also written whole, with commas:
// Server__Cors__AllowedOrigins=a,b. Variables reach into free-form objects: Drivers__0__Settings__SlaveId=3.
package settings
