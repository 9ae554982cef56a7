// Package serverconfig has the settings that the engine and the bridge have in common.
package serverconfig
