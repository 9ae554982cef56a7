package predictive

import (
	"context"
	"io"
	"slices"
)

// Export writes the rows of a training as CSV, see [features.Dataset.WriteCSV], with the features that a [Model] of one's own gets: operating conditions
// are not told apart. Those of a failure model have the features of one tag, without its unit and level; their unit is equipment/tag and their label
// the hours to the next failure. Those of an RUL model have the unit equipment/component and the remaining hours. The column stepSeconds is for
// [InputSpec]. Callers wait for each other, as the rows are held in memory.
func (s *Service) Export(ctx context.Context, modelType ModelType, w io.Writer) error {
	if !slices.Contains(ModelTypes(), modelType) {
		return ErrModelType
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.TrainingTimeout)
	defer cancel()
	if err := s.exports.take(ctx); err != nil {
		return err
	}
	defer s.exports.leave()
	f, err := s.fleet(ctx)
	if err != nil {
		return err
	}
	t := &trainer{s: s, fleet: f, bundle: bundle{modelType: modelType, horizon: s.o.Horizon.Hours()}}
	p, err := t.exportPlan()
	if err != nil {
		return err
	}
	tab, err := t.exportTable(ctx, p)
	if isMissingData(err) {
		return insufficient("%s", missingData(err))
	}
	if err != nil {
		return err
	}
	return tab.data.WriteCSV(writerUntil{ctx, w})
}

// exportTable returns all rows of a plan, with features as a [Model] gets them.
func (t *trainer) exportTable(ctx context.Context, p plan) (*table, error) {
	for i := range p.signals {
		p.signals[i].Setting = false
	}
	for _, src := range p.sources {
		for i := range src.inputs {
			src.inputs[i].setting = false
		}
	}
	p.maxRows, p.evenly = t.s.o.MaxRows, true
	divided, err := t.divide(ctx, p)
	switch {
	case isMissingData(err): // for a training
		t.measure(&p, livesOfSources(p.sources))
	case err != nil:
		return nil, err
	default:
		p = divided
		p.division = division{}
	}
	if p.extractor, err = newPlainExtractor(ctx, p.signals, p.options); err != nil {
		return nil, err
	}
	return t.s.build(ctx, p)
}

// writerUntil writes until ctx ends, so that a slow reader does not keep the turn.
type writerUntil struct {
	ctx context.Context
	w   io.Writer
}

func (w writerUntil) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

func (t *trainer) exportPlan() (plan, error) {
	if t.bundle.modelType == RULModel {
		p, missing := t.planRUL(t.components())
		if missing != "" {
			return p, insufficient("%s", missing)
		}
		return p, nil
	}
	members, roles := t.failing()
	if len(roles) == 0 {
		return plan{}, insufficient(noFailures)
	}
	return t.planPooled(members, roles), nil
}

// turn lets one caller at a time do what takes much memory or time.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn, or returns the error of ctx.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) leave() { <-t }
