// Package settings loads the settings of the reference servers into a struct.
//
// What is set later wins: the defaults, which are a value of the struct; a file in YAML or JSON; the
// environment; flags. Package koanf reads and merges them. This package knows the struct, and is
// strict where that library is lenient: a key that does not exist, a key given twice or a value of
// the wrong type stops the start with one line that names it.
//
// # The struct
//
// Each field has a tag koanf:"name", the name in lower camel case. Fields are structs, lists of
// structs, strings, booleans, numbers, time.Duration, lists of those, and json.RawMessage for an
// object whose members belong to somebody else. More tags:
//
//	doc:"..."       its meaning, for Reference
//	env:"NAME"      a second environment variable, weaker than the regular one; empty counts as absent
//	secret:"true"   never printed
//	secret:"url"    printed without the passwords in it: a URL or the key=value form of libpq
//
// # Names
//
// A key such as server.tls.certFile is found without regard to case. Its environment variable is
// Server__Tls__CertFile, in any case; items of lists have numbers: Drivers__0__Port. A list of plain
// values is also written whole, with commas: Server__Cors__AllowedOrigins=a,b. Variables reach into
// free-form objects: Drivers__0__Settings__SlaveId=3.
package settings
