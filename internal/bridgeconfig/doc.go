// Package bridgeconfig has the settings of the bridge. Their tags are the only place where they are declared: appsettings.json,
// driver_settings.json, the environment and docs/bridge-settings.md follow from them.
package bridgeconfig
