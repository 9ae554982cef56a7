// Package mqttevents publishes the changes of an [repository.Service] over MQTT 5 as CloudEvents 1.0 in
// structured mode.
package mqttevents
