package predictiveapi

import "github.com/otkit/otkit/transport/audited"

// Audited describes the operations on trainings and records to the audit log: their object is the model type, the job, the equipment of a
// record that is added, or the id of one that is removed. The record of a file has the counts.
func Audited() map[string]audited.Description {
	of := func(member func(body) string) func(audited.Call) []string {
		return func(c audited.Call) []string {
			var b body
			if !c.Decode(&b) || member(b) == "" {
				return nil
			}
			return []string{member(b)}
		}
	}
	record := audited.Description{Detail: true, Objects: of(func(b body) string { return b.EquipmentID })}
	return map[string]audited.Description{
		"retrainModel":    {Detail: true},
		"startTraining":   {Detail: true, Objects: of(func(b body) string { return b.ModelType })},
		"addFailures":     record,
		"addReplacements": record,
	}
}

// body has the members of requests that name objects.
type body struct{ ModelType, EquipmentID string }
