package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/openapi/alarmsapi"
)

// ListAlarmRules implements GET /api/v1/alarm-rules.
func (a *Alarms) ListAlarmRules(ctx context.Context, r alarmsapi.ListAlarmRulesRequestObject) (alarmsapi.ListAlarmRulesResponseObject, error) {
	q, err := alarmQuery("", r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	from, size, err := q.Window()
	if err != nil {
		return nil, err
	}
	list, err := a.Rules.List(ctx)
	if err != nil {
		return nil, err
	}
	if r.Params.TagName != "" {
		list = slices.DeleteFunc(list, func(rule alarms.Rule) bool { return rule.Tag != r.Params.TagName })
	}
	answer := alarmsapi.ListAlarmRules200JSONResponse{TotalCount: len(list)}
	from = min(from, len(list))
	answer.Rules, err = a.coded(ctx, list[from:min(from+size, len(list))]...)
	return answer, err
}

// GetAlarmRule implements GET /api/v1/alarm-rules/{id}.
func (a *Alarms) GetAlarmRule(ctx context.Context, r alarmsapi.GetAlarmRuleRequestObject) (alarmsapi.GetAlarmRuleResponseObject, error) {
	rule, err := a.Rules.Get(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return a.ruleAnswer(ctx, http.StatusOK, rule)
}

// AddAlarmRule implements POST /api/v1/alarm-rules.
func (a *Alarms) AddAlarmRule(ctx context.Context, r alarmsapi.AddAlarmRuleRequestObject) (alarmsapi.AddAlarmRuleResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	rule, err := a.Rules.Add(ctx, r.Body.Rule)
	if err != nil {
		return nil, err
	}
	return a.ruleAnswer(ctx, http.StatusCreated, rule)
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
func (a *Alarms) RemoveAlarmRule(ctx context.Context, r alarmsapi.RemoveAlarmRuleRequestObject) (alarmsapi.RemoveAlarmRuleResponseObject, error) {
	return alarmsapi.RemoveAlarmRule204Response{}, a.Rules.Remove(ctx, r.ID, a.Caller(ctx))
}

// coded gives rules with the codes of their alarms.
func (a *Alarms) coded(ctx context.Context, rules ...alarms.Rule) ([]alarms.CodedRule, error) {
	keys := make([]string, len(rules))
	for i := range rules {
		keys[i] = rules[i].Key()
	}
	codes, err := a.Service.Codes(ctx, keys)
	if err != nil {
		return nil, err
	}
	list := make([]alarms.CodedRule, len(rules))
	for i := range rules {
		list[i] = alarms.CodedRule{Rule: rules[i], Code: codes[keys[i]]}
	}
	return list, nil
}

func (a *Alarms) ruleAnswer(ctx context.Context, status int, rule alarms.Rule) (ruleAnswer, error) {
	list, err := a.coded(ctx, rule)
	if err != nil {
		return ruleAnswer{}, err
	}
	return ruleAnswer{status, list[0]}, nil
}

// ruleAnswer is a rule as an answer. The generated types would not do: they are made from
// alarms.CodedRule and so lose its JSON form.
type ruleAnswer struct {
	status int
	rule   alarms.CodedRule
}

func (a ruleAnswer) write(w http.ResponseWriter) error {
	if a.status == http.StatusCreated {
		w.Header().Set("Location", "/api/v1/alarm-rules/"+url.PathEscape(a.rule.ID))
	}
	body, err := json.Marshal(a.rule)
	if err != nil {
		return err
	}
	return writeJSON(w, a.status, body)
}

// VisitGetAlarmRuleResponse implements alarmsapi.GetAlarmRuleResponseObject.
func (a ruleAnswer) VisitGetAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitAddAlarmRuleResponse implements alarmsapi.AddAlarmRuleResponseObject.
func (a ruleAnswer) VisitAddAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitReplaceAlarmRuleResponse implements alarmsapi.ReplaceAlarmRuleResponseObject.
func (a ruleAnswer) VisitReplaceAlarmRuleResponse(w http.ResponseWriter) error { return a.write(w) }
