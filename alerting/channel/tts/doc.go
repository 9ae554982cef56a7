// Package tts is the channel that speaks alarms: a program such as espeak-ng makes audio of the text,
// and a command that is set plays it in the control room.
package tts
