package alarmsapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// ListAlarmRules implements GET /api/v1/alarm-rules.
func (a *handlers) ListAlarmRules(ctx context.Context, r gen.ListAlarmRulesRequestObject) (gen.ListAlarmRulesResponseObject, error) {
	q, err := alarmQuery("", r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	list, total, err := a.rules.Page(ctx, r.Params.TagName, q.Page, q.PageSize)
	if err != nil {
		return nil, err
	}
	answer := gen.ListAlarmRules200JSONResponse{TotalCount: total}
	answer.Rules, err = a.coded(ctx, list...)
	return answer, err
}

// GetAlarmRule implements GET /api/v1/alarm-rules/{id}.
func (a *handlers) GetAlarmRule(ctx context.Context, r gen.GetAlarmRuleRequestObject) (gen.GetAlarmRuleResponseObject, error) {
	rule, err := a.rules.Get(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return a.ruleAnswer(ctx, http.StatusOK, rule)
}

// AddAlarmRule implements POST /api/v1/alarm-rules.
func (a *handlers) AddAlarmRule(ctx context.Context, r gen.AddAlarmRuleRequestObject) (gen.AddAlarmRuleResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	rule, err := a.rules.Add(ctx, r.Body.Rule)
	if err != nil {
		return nil, err
	}
	return a.ruleAnswer(ctx, http.StatusCreated, rule)
}

// ReplaceAlarmRule implements PUT /api/v1/alarm-rules/{id}. The id of the body may be omitted.
func (a *handlers) ReplaceAlarmRule(ctx context.Context, r gen.ReplaceAlarmRuleRequestObject) (gen.ReplaceAlarmRuleResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	if r.Body.ID != "" && r.Body.ID != r.ID {
		return nil, rules.ErrInvalid.Invalid(fault.Field{Field: "id", Message: "must be that of the path"})
	}
	must := unchanged(ctx)
	rule, err := a.rules.Update(ctx, r.ID, func(old *rules.Rule) error {
		if must != nil {
			if err := must(*old); err != nil {
				return err
			}
		}
		*old = r.Body.Rule
		old.ID = r.ID
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.ruleAnswer(ctx, http.StatusOK, rule)
}

// RemoveAlarmRule implements DELETE /api/v1/alarm-rules/{id}.
func (a *handlers) RemoveAlarmRule(ctx context.Context, r gen.RemoveAlarmRuleRequestObject) (gen.RemoveAlarmRuleResponseObject, error) {
	return gen.RemoveAlarmRule204Response{}, a.rules.Remove(ctx, r.ID, a.caller(ctx), unchanged(ctx))
}

// unchanged returns the condition of the header If-Match, nil without one.
func unchanged(ctx context.Context) func(rules.Rule) error {
	holds := restapi.Precondition(restapi.IfMatchOf(ctx), rules.ErrChanged)
	if holds == nil {
		return nil
	}
	return func(r rules.Rule) error {
		_, tag, err := restapi.ContentETag(r)
		if err != nil {
			return err
		}
		return holds(tag)
	}
}

// coded returns rules with the codes of their alarms and the states of their evaluation.
func (a *handlers) coded(ctx context.Context, of ...rules.Rule) ([]rules.WithCode, error) {
	keys := make([]string, len(of))
	for i := range of {
		keys[i] = of[i].Key()
	}
	codes, err := a.service.Codes(ctx, keys)
	if err != nil {
		return nil, err
	}
	suppressed, err := a.service.SuppressedConditions(ctx)
	if err != nil {
		return nil, err
	}
	state := make(map[string]alarms.State, len(suppressed))
	for i := range suppressed {
		state[suppressed[i].Key] = suppressed[i].State()
	}
	list := make([]rules.WithCode, len(of))
	for i := range of {
		status := a.rules.Status(&of[i])
		if why, ok := state[keys[i]]; ok && status.State == rules.EvaluationRunning {
			status.State, status.Detail = rules.EvaluationSuppressed, "the alarm is "+string(why)
		}
		list[i] = rules.WithCode{Rule: of[i], Code: codes[keys[i]], Status: status}
	}
	return list, nil
}

func (a *handlers) ruleAnswer(ctx context.Context, status int, rule rules.Rule) (ruleAnswer, error) {
	list, err := a.coded(ctx, rule)
	if err != nil {
		return ruleAnswer{}, err
	}
	return ruleAnswer{status, list[0]}, nil
}

// ruleAnswer is an answer with a rule. The generated types are derived from rules.WithCode and lose its JSON form.
type ruleAnswer struct {
	status int
	rule   rules.WithCode
}

func (a ruleAnswer) write(w http.ResponseWriter) error {
	if a.status == http.StatusCreated {
		w.Header().Set("Location", "/api/v1/alarm-rules/"+url.PathEscape(a.rule.ID))
	}
	_, tag, err := restapi.ContentETag(a.rule.Rule) // without the state of its evaluation
	if err != nil {
		return err
	}
	body, err := json.Marshal(a.rule)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag)
	return restapi.WriteJSON(w, a.status, body)
}

// VisitGetAlarmRuleResponse implements gen.GetAlarmRuleResponseObject.
func (a ruleAnswer) VisitGetAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitAddAlarmRuleResponse implements gen.AddAlarmRuleResponseObject.
func (a ruleAnswer) VisitAddAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitReplaceAlarmRuleResponse implements gen.ReplaceAlarmRuleResponseObject.
func (a ruleAnswer) VisitReplaceAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }
