// Package derivedstore keeps the definitions of derived tags, templates and their instances in a database: [Store] is derived.Repository.
package derivedstore
