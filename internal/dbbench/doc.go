// Package dbbench measures lists over both databases by processor time. It works on Linux.
package dbbench
