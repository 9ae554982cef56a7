// Package predictivealarms raises alarms about what is predicted: failures, short remaining lives and anomalies. A [Monitor] polls
// a [Source], usually a monitor.Latest, and applies signals to an [alarms.Target]. A result counts only together with others:
// monitor.Options have how many, and when the alarm ends.
package predictivealarms
