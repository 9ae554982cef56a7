// Package tts is the channel that speaks alarms: a program such as espeak-ng makes audio of the text,
// and another command plays it in the control room.
package tts
