// Package operation has the row that a domain writes for each operation it offers: who may call it.
package operation
