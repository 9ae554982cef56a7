// Package archtest holds the layout of the repository in place: which package may import which.
package archtest
