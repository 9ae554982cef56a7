//go:build race

package signalr_test

const raceDetector = true
