package alertingpart

import (
	"net/http"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
)

// WebhookOperation is the ID of the operation that takes alerts of other systems.
const WebhookOperation = "postAlertWebhook"

const webhookHealth = "getWebhookHealth"

// errWebhookLimited has a status at which senders repeat the post.
var errWebhookLimited = fault.New(fault.TooMany, "WEBHOOK_RATE_LIMITED", "too many posts; nothing of this one was taken").With("retryAfter", "1")

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const (
		silence = "/api/v1.0/alert-silence"
		history = "/api/v1.0/alert-history"
		source  = "/api/v1.0/alertsource"
		channel = "/api/v1/alerting"
	)
	return []auth.Operation{
		{ID: "listSilences", Method: http.MethodGet, Path: silence, Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "listActiveSilences", Method: http.MethodGet, Path: silence + "/active", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "addSilence", Method: http.MethodPost, Path: silence, Access: auth.Operator, OpenSurface: true},
		{ID: "changeSilence", Method: http.MethodPut, Path: silence + "/{id}", Access: auth.Operator},
		{ID: "removeSilence", Method: http.MethodDelete, Path: silence + "/{id}", Access: auth.Operator, OpenSurface: true},
		{ID: "listAlertHistory", Method: http.MethodGet, Path: history, Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "getAlertRecord", Method: http.MethodGet, Path: history + "/{id}", Access: auth.Viewer, OpenSurface: true},
		{ID: "getSeverityStats", Method: http.MethodGet, Path: history + "/stats/severity", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "getSourceStats", Method: http.MethodGet, Path: history + "/stats/source", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: WebhookOperation, Method: http.MethodPost, Path: source + "/webhook", Access: auth.Operator, OpenSurface: true, RateLimited: errWebhookLimited,
			Unaudited: "alerts of other systems, by the thousand; they are in the alert history"},
		{ID: webhookHealth, Method: http.MethodGet, Path: source + "/health", Access: auth.Viewer, OpenSurface: true},
		{ID: "getDigest", Method: http.MethodGet, Path: history + "/digests/{id}", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		// These and the channels' last errors show addresses and phone numbers.
		{ID: "listDeadLetters", Method: http.MethodGet, Path: channel + "/deadletters", Access: auth.Operator},
		{ID: "discardDeadLetters", Method: http.MethodDelete, Path: channel + "/deadletters", Access: auth.Admin},
		{ID: "discardDeadLetter", Method: http.MethodDelete, Path: channel + "/deadletters/{id}", Access: auth.Admin},
		{ID: "retryDeadLetters", Method: http.MethodPost, Path: channel + "/deadletters/retry", Access: auth.Admin},
		{ID: "retryDeadLetter", Method: http.MethodPost, Path: channel + "/deadletters/{id}/retry", Access: auth.Admin},
		{ID: "listChannels", Method: http.MethodGet, Path: channel + "/channels", Access: auth.Operator},
		{ID: "testChannel", Method: http.MethodPost, Path: channel + "/channels/{name}/test", Access: auth.Admin},
	}
}
