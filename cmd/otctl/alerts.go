package main

import (
	"cmp"
	"context"
	"flag"
	"net/http"
	"slices"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func alertCommands() []command {
	return []command{listAlertsCommand(), listSilencesCommand(), addSilenceCommand(), editSilenceCommand(),
		{name: "silences remove", args: "ID", about: "Remove a silence", least: 1, most: 1, takes: []string{"silence"},
			run: func(ctx context.Context, c *cli, args []string) error {
				conn, err := c.connect()
				if err != nil {
					return err
				}
				_, err = receive(conn.RemoveSilence(ctx, args[0]))
				return unsure(err)
			}}}
}

func listAlertsCommand() command {
	var (
		when                          span
		severity, source, text, state string
		limit                         int
	)
	return command{name: "alerts list", about: "List alerts, newest first",
		flags: func(f *flag.FlagSet) {
			when.addFlags(f)
			f.StringVar(&severity, "severity", "", "only `SEVERITY`: Critical, Warning or Info")
			f.StringVar(&source, "source", "", "only alerts with `TEXT` in their source")
			f.StringVar(&text, "text", "", "only alerts with `TEXT` in title or description")
			f.StringVar(&state, "state", "", "firing or resolved (default: both)")
			f.IntVar(&limit, "limit", 100, "list at most `N` alerts; 0 for all")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			start, end, err := when.times()
			if err != nil {
				return err
			}
			params := client.ListAlertHistoryParams{Severity: severity, Source: source, Text: text, State: state, StartDate: start, EndDate: end}
			alerts, raw, err := pages[client.AlertHistoryRecord](ctx, "records", 100, limit, func(page, size int) (*http.Response, error) {
				params.Page, params.PageSize = &page, &size
				return conn.ListAlertHistory(ctx, &params)
			})
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"TIME", "SEVERITY", "SOURCE", "RESOLVED", "TITLE"}}
				for _, a := range alerts {
					rows = append(rows, []string{local(a.Timestamp), string(a.Severity), a.Source, local(a.ResolvedAt), a.Title})
				}
				return rows
			})
		}}
}

func listSilencesCommand() command {
	var all bool
	return command{name: "silences list", about: "List silences",
		flags: func(f *flag.FlagSet) { f.BoolVar(&all, "all", false, "also those that are over or yet to begin") },
		run: func(ctx context.Context, c *cli, _ []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			ask := conn.ListActiveSilences
			if all {
				ask = conn.ListSilences
			}
			list, raw, err := get[[]client.AlertSilence](ask(ctx))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return silenceRows(list...) })
		}}
}

func silenceRows(list ...client.AlertSilence) [][]string {
	rows := [][]string{{"ID", "TYPE", "SOURCE", "STARTS", "ENDS", "BY", "REASON"}}
	for _, s := range list {
		rows = append(rows, []string{s.SilenceID, s.SourceType, s.SourceIDPattern, local(s.StartsAt), local(s.EndsAt), s.CreatedBy, s.Reason})
	}
	return rows
}

func addSilenceCommand() command {
	var kind, reason, length, by string
	return command{name: "silences add", args: "PATTERN", about: "Silence alerts of sources for a time; * stands for any text", least: 1, most: 1,
		flags: func(f *flag.FlagSet) {
			f.StringVar(&kind, "type", "*", "`TYPE` of the sources, such as Equipment or Sensor; * for all")
			f.StringVar(&reason, "reason", "", "why; required")
			f.StringVar(&length, "for", "1h", "for how `LONG`: 30m, 8h or 2d")
			f.StringVar(&by, "by", "", "`NAME` of who adds it (default: the account)")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			d, err := parseDuration(length)
			if err != nil || d <= 0 {
				return usagef("-for %q: a time such as 30m or 2d is expected", length)
			}
			if reason == "" {
				return usagef("-reason is required")
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			if by == "" {
				own, err := conn.sender.store.session(conn.server)
				if err != nil {
					return err
				}
				by = own.User
			}
			now := time.Now().UTC()
			s, raw, err := change[client.AlertSilence](conn.AddSilence(ctx, client.SilenceRequest{SourceType: kind, SourceIDPattern: args[0], Reason: reason,
				CreatedBy: by, StartsAt: now.Format(time.RFC3339), EndsAt: now.Add(d).Format(time.RFC3339)}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return silenceRows(s) })
		}}
}

func editSilenceCommand() command {
	var kind, pattern, reason, length string
	return command{name: "silences edit", args: "ID", about: "Change a silence that has not ended; what is not given stays", least: 1, most: 1, takes: []string{"silence"},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&kind, "type", "", "`TYPE` of the sources, such as Equipment or Sensor; * for all")
			f.StringVar(&pattern, "source", "", "`PATTERN` of the sources; * stands for any text")
			f.StringVar(&reason, "reason", "", "why")
			f.StringVar(&length, "for", "", "how `LONG` from now: 30m, 8h or 2d")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, _, err := get[[]client.AlertSilence](conn.ListSilences(ctx))
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(s client.AlertSilence) bool { return s.SilenceID == args[0] })
			if i < 0 {
				return failf(exitNotFound, "there is no silence %s", args[0])
			}
			ends := list[i].EndsAt
			if length != "" {
				d, err := parseDuration(length)
				if err != nil || d <= 0 {
					return usagef("-for %q: a time such as 30m or 2d is expected", length)
				}
				ends = time.Now().Add(d)
			}
			s, raw, err := change[client.AlertSilence](conn.ChangeSilence(ctx, args[0], client.SilenceChange{SourceType: cmp.Or(kind, list[i].SourceType),
				SourceIDPattern: cmp.Or(pattern, list[i].SourceIDPattern), Reason: cmp.Or(reason, list[i].Reason), EndsAt: ends.UTC().Format(time.RFC3339Nano)}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return silenceRows(s) })
		}}
}
