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

// Routes are the names of the channels that notify of an alarm, by its severity. A severity without a row has that of
// [DefaultRoutes]; with an empty row, no channel notifies.
type Routes map[alarms.Severity][]string

// DefaultRoutes returns the default routes: all channels that reach people notify of a Critical alarm, and only the dashboard of a
// Warning or an Info.
func DefaultRoutes() Routes {
	return Routes{
		alarms.Critical: {ChannelEmail, ChannelTeamChat, ChannelSMS, ChannelTTS, ChannelDashboard, ChannelFCM, ChannelAPNs},
		alarms.Error:    {ChannelTeamChat, ChannelTelegram, ChannelLine, ChannelDashboard, ChannelFCM, ChannelAPNs},
		alarms.Warning:  {ChannelDashboard},
		alarms.Info:     {ChannelDashboard},
	}
}
