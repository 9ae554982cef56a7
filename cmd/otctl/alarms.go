package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func alarmCommands() []command {
	return []command{listAlarmsCommand(), acknowledgeCommand(), commentCommand(), shelveCommand(), unshelveCommand(), watchAlarmsCommand()}
}

// alarmFilter is what list, ack and watch select by.
type alarmFilter struct {
	client.ListAlarmsParams
	labels  list
	unacked bool
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return fmt.Sprint(*l) }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func (a *alarmFilter) addFlags(f *flag.FlagSet) {
	f.StringVar(&a.SeverityFilter, "severity", "", "only `SEVERITY`: Critical, Warning or Info")
	f.StringVar(&a.Source, "source", "", "only alarms with `TEXT` in their source")
	f.StringVar(&a.Text, "text", "", "only alarms with `TEXT` in their message")
	f.Var(&a.labels, "label", "only alarms with the label `NAME=VALUE`; may be repeated")
}

// fetch reads all alarms of a state that the filter selects.
func (a *alarmFilter) fetch(ctx context.Context, conn *connection, state string, limit int) ([]client.AlarmInfo, []byte, error) {
	params := a.ListAlarmsParams
	params.State, params.OnlyUnacknowledged, params.Label = state, a.unacked, client.AlarmLabel(a.labels)
	return pages[client.AlarmInfo](ctx, "alarms", 500, limit, func(page, size int) (*http.Response, error) {
		params.Page, params.PageSize = &page, &size
		return conn.ListAlarms(ctx, &params)
	})
}

func listAlarmsCommand() command {
	var (
		filter alarmFilter
		state  string
		limit  int
	)
	return command{name: "alarms list", about: "List alarms, newest first",
		flags: func(f *flag.FlagSet) {
			filter.addFlags(f)
			f.BoolVar(&filter.unacked, "unacknowledged", false, "only alarms that nobody has acknowledged")
			f.StringVar(&state, "state", "active", "active, returned-unacknowledged, shelved, suppressed, out-of-service or all")
			f.IntVar(&limit, "limit", 0, "list at most `N` alarms (default: all)")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			alarms, raw, err := filter.fetch(ctx, conn, state, limit)
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"TIME", "SEVERITY", "STATE", "SOURCE", "CODE", "ID", "MESSAGE"}}
				for _, a := range alarms {
					rows = append(rows, []string{local(a.TriggeredAt), string(a.Severity), alarmState(a), a.Source, strconv.FormatInt(a.Code, 10), a.ID, a.Message})
				}
				return rows
			})
		}}
}

// alarmState names the state as operators do.
func alarmState(a client.AlarmInfo) string {
	switch a.State {
	case client.AlarmInfoStateShelved:
		return "shelved"
	case client.AlarmInfoStateSuppressedByDesign:
		return "suppressed"
	case client.AlarmInfoStateOutOfService:
		return "out-of-service"
	}
	switch acknowledged := a.AcknowledgedAt != nil; {
	case a.IsActive && acknowledged:
		return "acknowledged"
	case a.IsActive:
		return "unacknowledged"
	case acknowledged:
		return "cleared"
	}
	return "returned"
}

func acknowledgeCommand() command {
	var (
		filter  alarmFilter
		comment string
		all     bool
	)
	return command{name: "alarms ack", args: "ID...", about: "Acknowledge alarms", most: -1, takes: []string{"alarm"},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&comment, "comment", "", "`TEXT` for the journal")
			f.BoolVar(&all, "all", false, "acknowledge all that the filters select, active or returned")
			filter.addFlags(f)
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			if all == (len(args) > 0) {
				return usagef("usage: otctl alarms ack ID... or otctl alarms ack -all [filters]")
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			if all {
				filter.unacked = true
				alarms, _, err := filter.fetch(ctx, conn, "all", 0)
				if err != nil {
					return err
				}
				for _, a := range alarms {
					args = append(args, a.ID)
				}
			}
			return c.acknowledge(ctx, conn, args, comment)
		}}
}

func commentCommand() command {
	return command{name: "alarms comment", args: "ID TEXT", about: "Comment on an alarm without acknowledging it", least: 2, most: 2, takes: []string{"alarm"},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			_, raw, err := change[client.Success](conn.CommentAlarm(ctx, args[0], client.CommentRequest{Comment: args[1]}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return [][]string{{"ID", "RESULT"}, {args[0], "commented"}} })
		}}
}

// acknowledge sends the ids in requests of at most 500, each id once.
func (c *cli) acknowledge(ctx context.Context, conn *connection, ids []string, comment string) error {
	ids = distinct(ids)
	whole := client.AcknowledgeAlarmsAnswer{Acknowledged: []string{}, Errors: []client.AcknowledgeError{}}
	var failed error
	for some := range slices.Chunk(ids, 500) {
		answer, _, err := change[client.AcknowledgeAlarmsAnswer](conn.AcknowledgeAlarms(ctx, client.AcknowledgeAlarmsRequest{AlarmIds: some, Comment: comment}))
		if err != nil {
			failed = err
			break
		}
		whole.Acknowledged = append(whole.Acknowledged, answer.Acknowledged...)
		whole.Errors = append(whole.Errors, answer.Errors...)
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	err = c.show(raw, func() [][]string {
		rows := [][]string{{"ID", "RESULT"}}
		for _, id := range whole.Acknowledged {
			rows = append(rows, []string{id, "acknowledged"})
		}
		for _, e := range whole.Errors {
			rows = append(rows, []string{e.AlarmID, e.Message})
		}
		return rows
	})
	if failed == nil && len(whole.Errors) > 0 {
		code := exitNotFound
		for _, e := range whole.Errors {
			if e.Code != "ALARM_NOT_FOUND" {
				code = exitRefused
			}
		}
		failed = failf(code, "%d of %d alarms were not acknowledged", len(whole.Errors), len(ids))
	}
	return errors.Join(failed, err)
}

// distinct returns a list without what is in it already, in its order.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	var once []string
	for _, s := range list {
		if !seen[s] {
			once = append(once, s)
		}
		seen[s] = true
	}
	return once
}

func shelveCommand() command {
	var comment, length string
	return command{name: "alarms shelve", args: "CODE", about: "Put an alarm aside for a time", least: 1, most: 1, takes: []string{"code"},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&length, "for", "1h", "for how `LONG`: 30m, 8h or 2d, at most 7d")
			f.StringVar(&comment, "comment", "", "`TEXT` for the journal")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			code, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("CODE %q is no number; otctl alarms list has codes", args[0])
			}
			d, err := parseDuration(length)
			if err != nil || d < time.Minute {
				return usagef("-for %q: a time of at least 1m is expected", length)
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			return c.suppressed(change[client.SuppressedAlarm](conn.ShelveAlarm(ctx, code, client.ShelveRequest{Minutes: int(d.Minutes()), Comment: comment})))
		}}
}

func unshelveCommand() command {
	var comment string
	return command{name: "alarms unshelve", args: "CODE", about: "Bring a shelved alarm back", least: 1, most: 1, takes: []string{"code"},
		flags: func(f *flag.FlagSet) { f.StringVar(&comment, "comment", "", "`TEXT` for the journal") },
		run: func(ctx context.Context, c *cli, args []string) error {
			code, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("CODE %q is no number; otctl alarms list has codes", args[0])
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			return c.suppressed(change[client.SuppressedAlarm](conn.UnshelveAlarm(ctx, code, client.AcknowledgeRequest{Comment: comment})))
		}}
}

func (c *cli) suppressed(a client.SuppressedAlarm, raw []byte, err error) error {
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		return [][]string{{"CODE", "STATE", "UNTIL", "BY"}, {strconv.FormatInt(a.Code, 10), string(a.State), local(a.ShelvedUntil), a.ShelvedBy}}
	})
}
