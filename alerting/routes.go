package alerting

import (
	"fmt"
	"maps"
	"slices"

	"github.com/otkit/otkit/alarms"
)

// The names of the channels that come with the package.
const (
	ChannelEmail     = "email"
	ChannelTeamChat  = "teamchat"
	ChannelSMS       = "sms"
	ChannelTTS       = "tts"
	ChannelDashboard = "dashboard"
	ChannelFCM       = "fcm"
	ChannelAPNs      = "apns"
	ChannelTelegram  = "telegram"
	ChannelLine      = "line"
	ChannelWebhook   = "webhook"
)

// KnownChannels lists the names of the channels that come with the package.
func KnownChannels() []string {
	return []string{
		ChannelEmail, ChannelTeamChat, ChannelSMS, ChannelTTS, ChannelDashboard,
		ChannelFCM, ChannelAPNs, ChannelTelegram, ChannelLine, ChannelWebhook,
	}
}

// Routes says which channels are told of an alarm, by its severity. A severity without a row has that
// of [DefaultRoutes]; an empty row tells nobody.
type Routes map[alarms.Severity][]string

// DefaultRoutes tells everybody who can be woken of what is critical, and the dashboard alone of what
// is not an error.
func DefaultRoutes() Routes {
	return Routes{
		alarms.Critical: {ChannelEmail, ChannelTeamChat, ChannelSMS, ChannelTTS, ChannelDashboard, ChannelFCM, ChannelAPNs},
		alarms.Error:    {ChannelTeamChat, ChannelTelegram, ChannelLine, ChannelDashboard, ChannelFCM, ChannelAPNs},
		alarms.Warning:  {ChannelDashboard},
		alarms.Info:     {ChannelDashboard},
	}
}

// withDefaults fills in missing rows and checks the names: each must be known or of a channel that is
// there, so that a slip of the pen does not go unseen.
func (r Routes) withDefaults(channels map[string]Channel) (Routes, error) {
	full := DefaultRoutes()
	maps.Copy(full, r)
	for severity, names := range full {
		if !severity.Valid() {
			return nil, fmt.Errorf("alerting: Options.Routes: %v is no severity", severity)
		}
		for i, name := range names {
			if channels[name] == nil && !slices.Contains(KnownChannels(), name) {
				return nil, fmt.Errorf("alerting: Options.Routes: %v names the channel %q, which is not known", severity, name)
			}
			if slices.Contains(names[:i], name) {
				return nil, fmt.Errorf("alerting: Options.Routes: %v names the channel %q twice", severity, name)
			}
		}
	}
	return full, nil
}

// missing lists the channels that routes name and that are not there, by name.
func (r Routes) missing(channels map[string]Channel) []string {
	var names []string
	for _, row := range r {
		for _, name := range row {
			if channels[name] == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
