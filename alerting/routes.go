package alerting

import "github.com/otkit/otkit/alarms"

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

// KnownChannels returns the names of the channels that come with the package.
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
