package netcompliance

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// SemanticID is that of the submodel.
const SemanticID = "https://admin-shell.io/idta/SM/NetworkCompliance/1/0"

const overall = "OverallLevel"

// Source knows facts.
type Source interface {
	// Facts returns what is known of the asset of a shell, and whether anything is: a shell without is
	// given no submodel. Safe for concurrent use.
	Facts(ctx context.Context, shell *aas.Shell) (f Facts, known bool, err error)
}

// SourceFunc is a function as a [Source].
type SourceFunc func(ctx context.Context, shell *aas.Shell) (Facts, bool, error)

// Facts calls the function.
func (fn SourceFunc) Facts(ctx context.Context, shell *aas.Shell) (Facts, bool, error) {
	return fn(ctx, shell)
}

// Options are the settings of a [Provider]. The zero Options works.
type Options struct {
	Rules []Rule           // nil means DefaultRules
	Now   func() time.Time // default time.Now
}

// Provider adds a network compliance submodel to the shells that its source knows. It is an
// [repository.SubmodelProvider]. Safe for concurrent use.
type Provider struct {
	source Source
	rules  []Rule
	now    func() time.Time
}

// New makes a provider.
func New(source Source, o Options) (*Provider, error) {
	if source == nil {
		return nil, errors.New("netcompliance: a Provider needs a source of facts")
	}
	if o.Rules == nil {
		o.Rules = DefaultRules()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{source: source, rules: o.Rules, now: o.Now}, checkRules(o.Rules)
}

// item is the form that the submodel has in the list of a shell's submodels.
type item struct {
	SubmodelType string    `json:"submodelType"`
	SemanticID   string    `json:"semanticId"`
	Elements     []element `json:"elements"`
}

type element struct {
	IDShort string `json:"idShort"`
	Value   string `json:"value"`
}

// Submodels returns the submodel of a shell: an element with a level for each rule, and OverallLevel, the
// worst of those that are known.
func (p *Provider) Submodels(ctx context.Context, shell *aas.Shell) ([]repository.ProvidedSubmodel, error) {
	f, known, err := p.source.Facts(ctx, shell)
	if err != nil || !known {
		return nil, err
	}
	worst, now := Unknown, p.now()
	list := make([]element, len(p.rules), len(p.rules)+1)
	for i, r := range p.rules {
		l := r.Evaluate(f, now)
		worst = max(worst, l)
		list[i] = element{r.IDShort, l.String()}
	}
	body, err := json.Marshal(item{"NetworkCompliance", SemanticID, append([]element{{overall, worst.String()}}, list...)})
	if err != nil {
		return nil, err
	}
	return []repository.ProvidedSubmodel{{JSON: body}}, nil
}
