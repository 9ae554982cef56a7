package main

import (
	"context"
	"flag"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/openapi/client"
)

func ruleCommands() []command {
	return []command{listRulesCommand(), addRuleCommand(), changeRuleCommand(),
		{name: "rules remove", args: "ID", about: "Remove a rule, and clear its alarm", least: 1, most: 1, takes: []string{"rule"},
			run: func(ctx context.Context, c *cli, args []string) error {
				conn, err := c.connect()
				if err != nil {
					return err
				}
				_, err = receive(conn.RemoveAlarmRule(ctx, args[0], nil))
				return unsure(err)
			}}}
}

func listRulesCommand() command {
	var (
		tag   string
		limit int
	)
	return command{name: "rules list", about: "List the rules that raise alarms, with the state of each",
		flags: func(f *flag.FlagSet) {
			f.StringVar(&tag, "tag", "", "only rules of the tag `NAME`")
			f.IntVar(&limit, "limit", 100, "list at most `N` rules; 0 for all")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			params := client.ListAlarmRulesParams{TagName: tag}
			list, raw, err := pages[rules.WithCode](ctx, "rules", 100, limit, func(page, size int) (*http.Response, error) {
				params.Page, params.PageSize = &page, &size
				return conn.ListAlarmRules(ctx, &params)
			})
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return ruleRows(list...) })
		}}
}

func ruleRows(list ...rules.WithCode) [][]string {
	rows := [][]string{{"ID", "TAG", "KIND", "LIMIT", "SEVERITY", "STATE"}}
	for _, r := range list {
		limit := ""
		if limited(r.Kind) {
			limit = strconv.FormatFloat(r.Limit, 'g', -1, 64)
		}
		state := string(r.Status.State)
		if state == "" && !r.Enabled {
			state = "Disabled"
		}
		rows = append(rows, []string{r.ID, r.Tag, string(r.Kind), limit, r.Severity.String(), state})
	}
	return rows
}

// limited reports whether rules of a kind compare with a limit.
func limited(k rules.Kind) bool {
	return k != rules.Discrete && k != rules.BadQuality && k != rules.Stale
}

// simpleKinds need a limit or nothing; the others are made with the API.
var simpleKinds = []rules.Kind{rules.HighHigh, rules.High, rules.Low, rules.LowLow, rules.BadQuality, rules.Stale}

func addRuleCommand() command {
	var (
		r        rules.Rule
		severity string
	)
	return command{name: "rules add", args: "TAG KIND [LIMIT]", least: 2, most: 3, takes: []string{"tag", "=HighHigh High Low LowLow BadQuality Stale"},
		about: "Add a rule that raises an alarm: HighHigh, High, Low, LowLow with a limit; BadQuality, Stale",
		flags: func(f *flag.FlagSet) {
			f.StringVar(&r.ID, "id", "", "`ID` of the rule (default: given by the engine)")
			f.StringVar(&severity, "severity", "Warning", "`SEVERITY`: Critical, Error, Warning or Info")
			f.Float64Var(&r.Deadband, "deadband", 0, "`NUMBER` by which the value must return from the limit to be normal")
			f.DurationVar(&r.OnDelay, "on-delay", 0, "how `LONG` the value must be beyond the limit, such as 5s")
			f.DurationVar(&r.OffDelay, "off-delay", 0, "how `LONG` it must be normal again")
			f.StringVar(&r.Instructions, "instructions", "", "`TEXT` that tells the operator what to do")
			f.StringVar(&r.Message, "message", "", "`TEXT` of the alarm; {value}, {limit} and {unit} are filled in")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			if err := completeRule(&r, severity, args); err != nil {
				return err
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			added, raw, err := change[rules.WithCode](conn.AddAlarmRule(ctx, client.AlarmRuleRequest{Rule: r}))
			if err != nil {
				return err
			}
			if added.Status.State == rules.EvaluationTagNotFound {
				c.note("otctl: there is no tag %s at present; the rule waits for it", r.Tag)
			}
			return c.show(raw, func() [][]string { return ruleRows(added) })
		}}
}

// completeRule fills in what the arguments say.
func completeRule(r *rules.Rule, severity string, args []string) (err error) {
	r.Enabled, r.Tag = true, args[0]
	i := slices.IndexFunc(simpleKinds, func(k rules.Kind) bool { return strings.EqualFold(string(k), args[1]) })
	if i < 0 {
		return usagef("kind %q: HighHigh, High, Low, LowLow, BadQuality and Stale are known", args[1])
	}
	r.Kind = simpleKinds[i]
	switch {
	case limited(r.Kind) != (len(args) == 3):
		return usagef("%s: HighHigh, High, Low and LowLow need a limit, the others have none", r.Kind)
	case limited(r.Kind):
		if r.Limit, err = strconv.ParseFloat(args[2], 64); err != nil {
			return usagef("limit %q: a number is expected", args[2])
		}
	}
	if err := r.Severity.UnmarshalText([]byte(severity)); err != nil {
		return usagef("-severity %s: Critical, Error, Warning and Info are known", severity)
	}
	return nil
}
