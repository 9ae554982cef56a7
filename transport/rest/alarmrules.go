package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/alarmsapi"
)

// ListAlarmRules implements GET /api/v1/alarm-rules.
func (a *Alarms) ListAlarmRules(ctx context.Context, _ alarmsapi.ListAlarmRulesRequestObject) (alarmsapi.ListAlarmRulesResponseObject, error) {
	list, err := a.Rules.List(ctx)
	if list == nil {
		list = []alarms.Rule{}
	}
	return alarmsapi.ListAlarmRules200JSONResponse(list), err
}

// GetAlarmRule implements GET /api/v1/alarm-rules/{id}.
func (a *Alarms) GetAlarmRule(ctx context.Context, r alarmsapi.GetAlarmRuleRequestObject) (alarmsapi.GetAlarmRuleResponseObject, error) {
	rule, err := a.Rules.Get(ctx, r.ID)
	return ruleAnswer{http.StatusOK, rule}, err
}

// AddAlarmRule implements POST /api/v1/alarm-rules.
func (a *Alarms) AddAlarmRule(ctx context.Context, r alarmsapi.AddAlarmRuleRequestObject) (alarmsapi.AddAlarmRuleResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	rule, err := a.Rules.Add(ctx, *r.Body)
	return ruleAnswer{http.StatusCreated, rule}, err
}

// ReplaceAlarmRule implements PUT /api/v1/alarm-rules/{id}. The id of the body may be left out.
func (a *Alarms) ReplaceAlarmRule(ctx context.Context, r alarmsapi.ReplaceAlarmRuleRequestObject) (alarmsapi.ReplaceAlarmRuleResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	if r.Body.ID != "" && r.Body.ID != r.ID {
		return nil, alarms.ErrInvalidRule.Invalid(fault.Field{Field: "id", Message: "must be that of the path"})
	}
	rule, err := a.Rules.Update(ctx, r.ID, func(old *alarms.Rule) error {
		*old = *r.Body
		old.ID = r.ID
		return nil
	})
	return ruleAnswer{http.StatusOK, rule}, err
}

// RemoveAlarmRule implements DELETE /api/v1/alarm-rules/{id}.
func (a *Alarms) RemoveAlarmRule(ctx context.Context, r alarmsapi.RemoveAlarmRuleRequestObject) (alarmsapi.RemoveAlarmRuleResponseObject, error) {
	return alarmsapi.RemoveAlarmRule204Response{}, a.Rules.Remove(ctx, r.ID)
}

// ruleAnswer is a rule as an answer. The generated types would not do: they are made from alarms.Rule
// and so lose its JSON form.
type ruleAnswer struct {
	status int
	rule   alarms.Rule
}

func (a ruleAnswer) write(w http.ResponseWriter) error {
	body, err := json.Marshal(a.rule)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, err = w.Write(body)
	return err
}

// VisitGetAlarmRuleResponse implements alarmsapi.GetAlarmRuleResponseObject.
func (a ruleAnswer) VisitGetAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitAddAlarmRuleResponse implements alarmsapi.AddAlarmRuleResponseObject.
func (a ruleAnswer) VisitAddAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitReplaceAlarmRuleResponse implements alarmsapi.ReplaceAlarmRuleResponseObject.
func (a ruleAnswer) VisitReplaceAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }
