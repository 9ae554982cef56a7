package discoveryapi

import "github.com/otkit/otkit/transport/audited"

// Audited describes the operations on bridges to the audit log: their object is the bridge. The log replaces the bind secret, and has no
// answers, which hold the binding token.
func Audited() map[string]audited.Description {
	return map[string]audited.Description{"bindBridge": {Objects: func(c audited.Call) []string {
		var body struct{ BridgeID string }
		c.Decode(&body)
		return []string{body.BridgeID}
	}}}
}
