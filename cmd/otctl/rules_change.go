package main

import (
	"context"
	"flag"
	"strconv"
	"time"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

// ruleEdits are the changes that flags ask for; what has no flag stays.
type ruleEdits []func(*rules.Rule)

func (e *ruleEdits) addFlags(f *flag.FlagSet) {
	edit := func(name, usage string, parse func(text string) (func(*rules.Rule), error)) {
		f.Func(name, usage, func(text string) error {
			one, err := parse(text)
			*e = append(*e, one)
			return err
		})
	}
	text := func(name, usage string, of func(*rules.Rule) *string) {
		edit(name, usage, func(text string) (func(*rules.Rule), error) { return func(r *rules.Rule) { *of(r) = text }, nil })
	}
	number := func(name, usage string, of func(*rules.Rule) *float64) {
		edit(name, usage, func(text string) (func(*rules.Rule), error) {
			v, err := strconv.ParseFloat(text, 64)
			return func(r *rules.Rule) { *of(r) = v }, err
		})
	}
	length := func(name, usage string, of func(*rules.Rule) *time.Duration) {
		edit(name, usage, func(text string) (func(*rules.Rule), error) {
			v, err := time.ParseDuration(text)
			return func(r *rules.Rule) { *of(r) = v }, err
		})
	}
	flagOf := func(name, usage string, of func(*rules.Rule) *bool) {
		f.BoolFunc(name, usage, func(text string) error {
			v, err := strconv.ParseBool(text)
			*e = append(*e, func(r *rules.Rule) { *of(r) = v })
			return err
		})
	}
	number("limit", "`NUMBER` beyond which the alarm is raised", func(r *rules.Rule) *float64 { return &r.Limit })
	number("deadband", "`NUMBER` by which the value must return from the limit to be normal", func(r *rules.Rule) *float64 { return &r.Deadband })
	length("on-delay", "how `LONG` the value must be beyond the limit, such as 5s", func(r *rules.Rule) *time.Duration { return &r.OnDelay })
	length("off-delay", "how `LONG` it must be normal again", func(r *rules.Rule) *time.Duration { return &r.OffDelay })
	edit("severity", "`SEVERITY`: Critical, Error, Warning or Info", func(text string) (func(*rules.Rule), error) {
		var parsed rules.Rule
		err := parsed.Severity.UnmarshalText([]byte(text))
		return func(r *rules.Rule) { r.Severity = parsed.Severity }, err
	})
	text("name", "`TEXT` that names the rule", func(r *rules.Rule) *string { return &r.Name })
	text("group", "`TEXT` that becomes the label group", func(r *rules.Rule) *string { return &r.Group })
	text("message", "`TEXT` of the alarm; {value}, {limit} and {unit} are filled in", func(r *rules.Rule) *string { return &r.Message })
	text("instructions", "`TEXT` that tells the operator what to do", func(r *rules.Rule) *string { return &r.Instructions })
	flagOf("latching", "the alarm stays until it is reset; -latching=false ends that", func(r *rules.Rule) *bool { return &r.Latching })
	flagOf("enabled", "evaluate the rule; -enabled=false ends that", func(r *rules.Rule) *bool { return &r.Enabled })
}

// changeRuleCommand changes a rule as it is when it is read: if somebody else changes it meanwhile, the engine refuses the change.
func changeRuleCommand() command {
	var edits ruleEdits
	return command{name: "rules change", args: "ID", about: "Change a rule; what is not given stays", least: 1, most: 1, takes: []string{"rule"},
		flags: edits.addFlags,
		run: func(ctx context.Context, c *cli, args []string) error {
			if len(edits) == 0 {
				return usagef("nothing to change is given; otctl rules change -h lists the flags")
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			answer, err := conn.GetAlarmRule(ctx, args[0])
			rule, _, err := get[rules.WithCode](answer, err)
			if err != nil {
				return err
			}
			for _, edit := range edits {
				edit(&rule.Rule)
			}
			params := client.ReplaceAlarmRuleParams{IfMatch: answer.Header.Get("ETag")}
			changed, raw, err := change[rules.WithCode](conn.ReplaceAlarmRule(ctx, args[0], &params, client.AlarmRuleRequest{Rule: rule.Rule}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return ruleRows(changed) })
		}}
}
