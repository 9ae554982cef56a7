// Package telegram is the channel that sends messages by a bot of Telegram.
package telegram
