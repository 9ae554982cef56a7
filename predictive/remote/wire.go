package remote

import (
	"encoding/json"
	"math"
	"time"

	"github.com/otkit/otkit/predictive"
)

// question is the body of a request.
type question struct {
	ModelType     predictive.ModelType `json:"modelType"`
	EquipmentID   string               `json:"equipmentId"`
	TagID         string               `json:"tagId,omitempty"`
	Role          string               `json:"role,omitempty"`
	ComponentName string               `json:"componentName,omitempty"`
	At            time.Time            `json:"at"`
	HorizonHours  float64              `json:"horizonHours"`
	StepSeconds   float64              `json:"stepSeconds"`
	Features      map[string]*float64  `json:"features"`
	Samples       map[string]series    `json:"samples,omitempty"`
}

// series has the samples of a tag.
type series struct {
	Times  []time.Time `json:"times"`
	Values []float64   `json:"values"`
}

func newQuestion(in predictive.ModelInput) question {
	q := question{ModelType: in.ModelType, EquipmentID: in.EquipmentID, TagID: in.TagID, Role: in.Role, ComponentName: in.ComponentName, At: in.At.UTC(),
		HorizonHours: in.Horizon.Hours(), StepSeconds: in.Step.Seconds(), Features: make(map[string]*float64, len(in.Names))}
	for i, name := range in.Names {
		q.Features[name] = nil
		if i < len(in.Values) && finite(in.Values[i]) {
			q.Features[name] = &in.Values[i]
		}
	}
	if in.Samples != nil {
		q.Samples = make(map[string]series, len(in.Samples))
	}
	for tag, samples := range in.Samples {
		s := series{Times: []time.Time{}, Values: []float64{}}
		for _, x := range samples {
			if finite(x.Value) && !x.Bad {
				s.Times, s.Values = append(s.Times, x.Time.UTC()), append(s.Values, x.Value)
			}
		}
		q.Samples[tag] = s
	}
	return q
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// answer is the body of a response.
type answer struct {
	Probability *float64
	Threshold   *float64
	Days        *float64
	LowDays     *float64
	HighDays    *float64
	CapDays     *float64
	Confidence  *float64
}

// readAnswer returns an answer that has what the model type requires. Package predictive checks the ranges.
func readAnswer(t predictive.ModelType, data []byte) (predictive.ModelOutput, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return predictive.ModelOutput{}, unavailable("the answer of the model is not the JSON object that it should be").Wrap(err)
	}
	out := predictive.ModelOutput{Confidence: a.Confidence}
	type member struct {
		name     string
		from     *float64
		to       *float64
		required bool
	}
	members := []member{{"probability", a.Probability, &out.Probability, true}, {"threshold", a.Threshold, &out.Threshold, false}}
	if t == predictive.RULModel {
		members = []member{{"days", a.Days, &out.Days, true}, {"lowDays", a.LowDays, &out.LowDays, true}, {"highDays", a.HighDays, &out.HighDays, true},
			{"capDays", a.CapDays, &out.CapDays, false}}
	}
	for _, m := range members {
		switch {
		case m.from != nil:
			*m.to = *m.from
		case m.required:
			return predictive.ModelOutput{}, unavailable("the answer of the model has no %s", m.name)
		}
	}
	return out, nil
}
