// Package bindingstore keeps the bindings of bridges in a database: [Store] is discovery.Store.
package bindingstore
