// Package teamchat is the channel that posts to a room of a team chat through an incoming webhook: of Slack,
// Mattermost or Microsoft Teams (a workflow "when a webhook request is received").
package teamchat
