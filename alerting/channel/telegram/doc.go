// Package telegram is the channel that sends messages through a Telegram bot.
package telegram
