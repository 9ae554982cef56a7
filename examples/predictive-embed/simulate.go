package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/otkit/otkit/predictive"
)

// simulate returns a plant with two months of samples, one each hour, and the time at which they end.
func simulate() (*plant, time.Time) {
	ctx := context.Background()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(0, 2, 1)
	p := &plant{samples: make(map[string][]predictive.Sample)}
	fans, _ := p.Equipments(ctx)
	random := rand.New(rand.NewPCG(1, 2))
	for _, fan := range fans {
		tag := fan + ".vibration"
		life, age := 100.+100*random.Float64(), 0. // hours
		for at := begin; !at.After(end); at = at.Add(time.Hour) {
			if age++; age > life {
				failed := predictive.Failure{ID: fmt.Sprint(fan, at.Unix()), EquipmentID: fan, Component: "Bearing", Source: predictive.SourceManual, Start: at}
				_ = p.AddFailures(ctx, []predictive.Failure{failed})
				life, age = 100+100*random.Float64(), 0
			}
			vibration := 2 + 4*math.Expm1(4*age/life)/math.Expm1(4) + 0.1*random.NormFloat64()
			p.samples[tag] = append(p.samples[tag], predictive.Sample{Time: at, Value: vibration})
		}
	}
	return p, end
}
