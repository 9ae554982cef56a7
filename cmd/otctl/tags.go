package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otkit/otkit/openapi/client"
)

func tagCommands() []command {
	return []command{listTagsCommand(), getTagsCommand(), setTagCommand(), outcomeCommand(), listWritesCommand(), watchTagsCommand(), historyCommand(), exportHistoryCommand()}
}

func listTagsCommand() command {
	var (
		driver string
		limit  int
	)
	return command{name: "tags list", args: "[PATTERN]", about: "List tags; a pattern has * for any text and ? for a character", most: 1, takes: []string{"tag"},
		flags: func(f *flag.FlagSet) {
			f.StringVar(&driver, "driver", "", "only tags of the driver `ID`")
			f.IntVar(&limit, "limit", 0, "list at most `N` tags (default: all)")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			params := client.ListTagsParams{DriverFilter: driver}
			if len(args) > 0 {
				params.NamePattern = like(args[0])
			}
			list, raw, err := pages[client.Tag](ctx, "tags", 500, limit, func(page, size int) (*http.Response, error) {
				params.Page, params.PageSize = &page, &size
				return conn.ListTags(ctx, &params)
			})
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string { return tagRows(list) })
		}}
}

func tagRows(list []client.Tag) [][]string {
	rows := [][]string{{"NAME", "VALUE", "UNIT", "QUALITY", "REASON", "TIME"}}
	for _, t := range list {
		rows = append(rows, []string{t.Name, valueText(t.CurrentValue), t.Unit, string(t.Quality), t.QualityReason, local(t.LastUpdated)})
	}
	return rows
}

// like returns a pattern with * and ? as a LIKE pattern.
func like(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%", "?", "_").Replace(pattern)
}

func getTagsCommand() command {
	var valueOnly bool
	return command{name: "tags get", args: "NAME...", about: "Read tags", least: 1, most: -1, takes: []string{"tag"},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&valueOnly, "value", false, "print values only; fails if one is Bad")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, missing, err := conn.readTags(ctx, args)
			if err != nil {
				return err
			}
			if valueOnly {
				err = c.values(list)
			} else {
				err = c.show(raw, func() [][]string { return tagRows(list) })
			}
			return errors.Join(missing, err)
		}}
}

// readTags reads one tag, or several; missing is the error of those that cannot be read.
func (conn *connection) readTags(ctx context.Context, names []string) (list []client.Tag, raw []byte, missing, err error) {
	for _, name := range names {
		if name == "" {
			return nil, nil, nil, usagef("the name of a tag is empty")
		}
	}
	if len(names) == 1 {
		one, raw, err := get[client.TagAnswer](conn.ReadTag(ctx, names[0]))
		return []client.Tag{one.Tag}, raw, nil, err
	}
	if len(names) > 500 {
		return nil, nil, nil, usagef("%d tags; at most 500 can be read at once", len(names))
	}
	several, raw, err := get[client.BatchReadAnswer](conn.ReadTags(ctx, client.BatchReadRequest{TagNames: names}))
	if err == nil && len(several.Errors) > 0 {
		missing = failf(exitNotFound, "%d of %d tags cannot be read: %s", len(several.Errors), len(names), several.Errors[0].Message)
	}
	return several.Tags, raw, missing, err
}

func (c *cli) values(list []client.Tag) error {
	for _, t := range list {
		if t.Quality == client.Bad || t.CurrentValue.IsZero() {
			return fmt.Errorf("%s is %s: %s", t.Name, t.Quality, t.QualityReason)
		}
		if _, err := fmt.Fprintln(c.out, plain(valueText(t.CurrentValue))); err != nil {
			return err
		}
	}
	return nil
}

func setTagCommand() command {
	var (
		confirm, leave bool
		wait           time.Duration
	)
	return command{name: "tags set", args: "NAME VALUE", about: "Write a tag and tell the outcome", least: 2, most: 2, empty: true, takes: []string{"tag", ""},
		flags: func(f *flag.FlagSet) {
			f.BoolVar(&confirm, "confirm", false, "read the value back before the write counts as done")
			f.BoolVar(&leave, "no-wait", false, "do not wait for the outcome; see tags outcome")
			f.DurationVar(&wait, "wait", 30*time.Second, "how long to wait for the outcome")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			if args[0] == "" {
				return usagef("the name of a tag is empty")
			}
			known, _, err := get[client.TagAnswer](conn.ReadTag(ctx, args[0]))
			if err != nil {
				return err
			}
			t := known.Tag
			queued, raw, err := change[client.WriteAnswer](conn.WriteTag(ctx, t.Driver, strings.TrimPrefix(t.Name, t.Driver+"."), nil, client.WriteRequest{Value: &args[1], Confirm: confirm}))
			if err != nil {
				return err
			}
			if leave {
				return c.show(raw, func() [][]string { return [][]string{{"TAG", "STATE", "WRITE ID"}, {t.Name, "Queued", queued.WriteID}} })
			}
			return c.writeOutcome(ctx, conn, queued.WriteID, wait)
		}}
}

func outcomeCommand() command {
	var wait time.Duration
	return command{name: "tags outcome", args: "WRITE-ID", about: "Tell what became of a write", least: 1, most: 1,
		flags: func(f *flag.FlagSet) { f.DurationVar(&wait, "wait", 0, "how long to wait for the outcome") },
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			return c.writeOutcome(ctx, conn, args[0], wait)
		}}
}

func listWritesCommand() command {
	var (
		params                 client.ListWritesParams
		outcomes, since, until string
		limit                  int
	)
	return command{name: "tags writes", about: "List writes, newest first: who wrote what, and what came of it",
		flags: func(f *flag.FlagSet) {
			f.StringVar(&params.DriverID, "driver", "", "only writes to the driver `ID`")
			f.StringVar(&params.TagName, "tag", "", "only writes to the tag `NAME`")
			f.StringVar(&params.Address, "address", "", "only writes to the `ADDRESS`, together with -driver")
			f.StringVar(&params.RequestedBy, "user", "", "only writes of the user `NAME`")
			f.StringVar(&outcomes, "outcome", "", "only `OUTCOMES`, separated by commas: Queued, Written, Confirmed, Unconfirmed, Failed, Unknown")
			f.StringVar(&since, "since", "", "first `TIME`, or an age such as 24h or 7d")
			f.StringVar(&until, "until", "", "`TIME` after the last, or an age")
			f.IntVar(&limit, "limit", 100, "list at most `N` writes; 0 for all")
		},
		run: func(ctx context.Context, c *cli, _ []string) error {
			if limit < 0 {
				return usagef("-limit must not be negative")
			}
			if err := writeTimes(&params, since, until); err != nil {
				return err
			}
			if outcomes != "" {
				for one := range strings.SplitSeq(outcomes, ",") {
					params.State = append(params.State, client.WriteState(strings.TrimSpace(one)))
				}
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			list, raw, err := conn.listWrites(ctx, &params, limit)
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"TIME", "TAG", "VALUE", "BY", "STATE", "WRITE ID", "ERROR"}}
				for _, w := range list {
					rows = append(rows, []string{local(w.QueuedAt), w.TagName, valueText(w.Value), w.RequestedBy, string(w.State), w.WriteID, w.Error})
				}
				return rows
			})
		}}
}

func writeTimes(params *client.ListWritesParams, since, until string) (err error) {
	now := time.Now()
	if since != "" {
		if params.Start, err = parseTime(since, now); err != nil {
			return usagef("-since: %w", err)
		}
	}
	if until != "" {
		if params.End, err = parseTime(until, now); err != nil {
			return usagef("-until: %w", err)
		}
	}
	if since != "" && until != "" && !params.Start.Before(params.End) {
		return usagef("-since is not before -until")
	}
	return nil
}

// maxWrites is the largest page of writes.
const maxWrites = 1000

// listWrites reads the newest writes, all for a limit of 0. Where several pages are needed, writes that are queued meanwhile are left out, since
// they would move the later pages.
func (conn *connection) listWrites(ctx context.Context, params *client.ListWritesParams, limit int) ([]client.Write, []byte, error) {
	size := limit
	if limit == 0 || limit > maxWrites {
		size = maxWrites
		if params.End.IsZero() {
			one := 1
			params.PageSize = &one
			newest, raw, err := get[client.WriteList](conn.ListWrites(ctx, params))
			if err != nil || len(newest.Writes) == 0 {
				return nil, raw, err
			}
			params.End = newest.Writes[0].QueuedAt.Add(time.Microsecond)
		}
	}
	return pages[client.Write](ctx, "writes", size, limit, func(page, size int) (*http.Response, error) {
		params.Page, params.PageSize = &page, &size
		return conn.ListWrites(ctx, params)
	})
}

// writeOutcome waits until it is known what became of a write, and prints it. A look that fails is repeated: it writes nothing.
func (c *cli) writeOutcome(ctx context.Context, conn *connection, id string, wait time.Duration) error {
	var (
		w   client.Write
		raw []byte
		err error
	)
	for tries, end := 0, time.Now().Add(wait); ; tries++ {
		w, raw, err = get[client.Write](conn.GetWrite(ctx, id, nil))
		if err == nil && w.State != client.Queued || time.Now().After(end) || c.codeOf(err) > exitFailed {
			break
		}
		if stopped := pause(ctx, tries); stopped != nil {
			return failf(exitUnknown, "interrupted; the write may still be carried out: otctl tags outcome %s", id)
		}
	}
	if err != nil {
		return failf(exitUnknown, "the outcome of the write %s is unknown: %w", id, err)
	}
	err = c.show(raw, func() [][]string {
		return [][]string{{"TAG", "VALUE", "STATE", "ERROR"}, {w.TagName, valueText(w.Value), string(w.State), w.Error}}
	})
	return errors.Join(writeError(w), err)
}

// writeError returns the error that stands for the exit code of an outcome.
func writeError(w client.Write) error {
	switch w.State {
	case client.Written, client.Confirmed:
		return nil
	case client.Failed:
		return failf(exitFailed, "%s was not written: %s", w.TagName, w.Error)
	case client.Queued:
		return failf(exitUnknown, "%s is not written yet: otctl tags outcome %s", w.TagName, w.WriteID)
	}
	return failf(exitUnknown, "it is not known whether %s was written (%s): %s", w.TagName, w.State, w.Error)
}

func historyCommand() command {
	var (
		when     span
		points   int
		interval string
	)
	return command{name: "tags history", args: "NAME", about: "Show the history of a tag, or figures for each interval", least: 1, most: 1, takes: []string{"tag"},
		flags: func(f *flag.FlagSet) {
			when.addFlags(f)
			f.IntVar(&points, "points", 200, "at most `N` points, chosen so that a plot keeps its shape")
			f.StringVar(&interval, "interval", "", "min, max, average and count for each interval, such as `1h`: ms, s, m, h, d, w, mo, y")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			conn, err := c.connect()
			if err != nil {
				return err
			}
			start, end, err := when.times()
			if err != nil {
				return err
			}
			if interval != "" {
				return c.aggregates(ctx, conn, args[0], interval, aligned(start, interval), end)
			}
			h, raw, err := get[client.TagHistory](conn.GetTagHistory(ctx, args[0], &client.GetTagHistoryParams{Start: start, End: end, MaxPoints: &points}))
			if err != nil {
				return err
			}
			return c.show(raw, func() [][]string {
				rows := [][]string{{"TIME", "VALUE", "QUALITY"}}
				for _, p := range h.Points {
					rows = append(rows, []string{local(p.Timestamp), valueText(p.Value), string(p.Quality)})
				}
				return rows
			})
		}}
}

func (c *cli) aggregates(ctx context.Context, conn *connection, name, interval string, start, end time.Time) error {
	params := client.GetHistoryAggregatesParams{Tag: []string{name}, Start: start, End: end, Interval: interval, Format: "json"}
	type line struct {
		client.HistoryInterval
		Average *float64 `json:"average"` // null for none, which the client's type cannot tell from 0
	}
	a, raw, err := get[struct {
		Series []struct{ Intervals []line }
	}](conn.GetHistoryAggregates(ctx, &params))
	if err != nil {
		return err
	}
	return c.show(raw, func() [][]string {
		rows := [][]string{{"START", "MIN", "AVERAGE", "MAX", "COUNT", "GOOD"}}
		for _, s := range a.Series {
			for _, l := range s.Intervals {
				average := ""
				if l.Average != nil {
					average = fmt.Sprint(*l.Average)
				}
				rows = append(rows, []string{local(l.Start), valueText(l.Min), average, valueText(l.Max), fmt.Sprint(l.Count), number(l.PercentGood) + "%"})
			}
		}
		return rows
	})
}

func exportHistoryCommand() command {
	var (
		when         span
		format, file string
		wide, force  bool
	)
	return command{name: "tags export", args: "NAME...", about: "Download every stored sample of up to 100 tags", least: 1, most: 100, takes: []string{"tag"},
		flags: func(f *flag.FlagSet) {
			when.addFlags(f)
			f.StringVar(&format, "format", "csv", "csv or json")
			f.StringVar(&file, "file", "-", "`FILE` to write")
			f.BoolVar(&wide, "wide", false, "a column for each tag (csv)")
			f.BoolVar(&force, "force", false, "replace the file")
		},
		run: func(ctx context.Context, c *cli, args []string) error {
			if format != "csv" && format != "json" {
				return usagef("-format %s: csv and json are known", format)
			}
			conn, err := c.connect()
			if err != nil {
				return err
			}
			params := client.ExportHistoryParams{Tag: args, Format: client.ExportHistoryParamsFormat(format)}
			if params.Start, params.End, err = when.times(); err != nil {
				return err
			}
			if wide {
				params.Layout = "wide"
			}
			answer, err := conn.ExportHistory(ctx, &params)
			if err := check(answer, err); err != nil {
				return err
			}
			return c.save(answer, file, force)
		}}
}
