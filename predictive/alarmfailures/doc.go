// Package alarmfailures records failures of equipments from alarms: a [Recorder] follows the journal of alarms and adds each Critical
// one that is over to the records, from when it was raised to its end, if its key is among those that are named or its labels tell what has failed.
//
// An alarm that is raised again soon after its end is one failure with it. Alarms that were raised while their condition was out of
// service or suppressed by design are no failures, nor are those about connections and predictions.
package alarmfailures
