// Package engineconfig holds the settings of the engine and turns them into options.
//
// Each domain has a file: a struct whose tags declare its settings (see package settings), a Validate method for rules that a tag
// cannot express, and the code that makes options of the domain from them. A new domain adds a file, and a member to [Engine].
package engineconfig
