// Package alertsource receives alerts from Prometheus Alertmanager and from programs that post the same bodies. A [Receiver]
// raises and clears an alarm for each alert and writes its record.
package alertsource
