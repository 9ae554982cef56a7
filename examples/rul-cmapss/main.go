// How well is the remaining life of machines predicted? The C-MAPSS turbofan sets, or a generated fleet, go from raw files
// to a table of results and a page with plots.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
)

func main() {
	data := flag.String("data", "", "folder with C-MAPSS files, plain or gzipped (default: ../shared/data/cmapss or $OTKIT_DATA/cmapss if there, else a generated fleet)")
	report := flag.String("report", "rul-cmapss.html", "file for the plots")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *data == "" {
		*data = found()
	}
	list, err := fleets(*data)
	if err == nil {
		if *data == "" {
			fmt.Println("No C-MAPSS files: this is a generated fleet. See -data.")
		}
		err = run(ctx, os.Stdout, list, *report)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// found returns the folder with C-MAPSS files, "" if there is none.
func found() string {
	for _, dir := range []string{"../shared/data", os.Getenv("OTKIT_DATA")} {
		dir = filepath.Join(dir, "cmapss")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// result is what is found out about a fleet.
type result struct {
	name     string
	rul      rul
	failures []failure
	anomalies
}

// run prints the results of fleets and writes the report.
func run(ctx context.Context, out io.Writer, list []fleet, report string) error {
	results, err := judge(ctx, list)
	if err != nil {
		return err
	}
	var table strings.Builder
	if err := tabulate(&table, results); err != nil {
		return err
	}
	if _, err := io.WriteString(out, table.String()); err != nil {
		return err
	}
	return writeReport(report, table.String(), results)
}

// judge trains with each fleet and predicts.
func judge(ctx context.Context, list []fleet) (results []result, err error) {
	for _, f := range list {
		x, err := newExtractor(ctx, f.train)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		train, err := newDataset(x, f.train)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		r := result{name: f.name}
		if r.rul, err = judgeRUL(ctx, f, x, train); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if r.failures, err = judgeFailure(ctx, x, train, r.rul.model); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if r.anomalies, err = judgeAnomalies(ctx, x, train); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// tabulate writes the results.
func tabulate(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nRemaining life of the test units, at most %d cycles\n", longest)
	fmt.Fprintln(w, "set\ttest units\tconditions found\tRMSE\tNASA score\tMAE\tRMSE uncapped\t90% intervals cover\tmean width\ttraining, 1 core\tmodel\tprediction\tfrom raw history")
	for _, r := range results {
		l := r.rul
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.0f\t%.2f\t%.2f\t%.0f%%\t%.0f\t%.1f s\t%d kB\t%.0f µs\t%.0f µs\n", r.name, len(l.actual), l.conditions, l.rmse, l.score, l.mae,
			l.uncapped, 100*l.covered, l.width, l.fit.Seconds(), l.bytes/1000, float64(l.perRow.Nanoseconds())/1000, float64(l.fromRaw.Nanoseconds())/1000)
	}
	fmt.Fprintf(w, "\nFailure within %d cycles, whole units held out\n", horizon)
	fmt.Fprintln(w, "set\tfeatures\trows\tAUC\tPR-AUC\tF1\tBrier\tcalibration error")
	for _, r := range results {
		for _, f := range r.failures {
			kind := "all"
			if f.tag != "" {
				kind = f.tag + ": mean, stdDev, trend"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%.4f\t%.3f\t%.3f\t%.4f\t%.4f\n", r.name, kind, len(f.positive), f.auc, f.precision, f.f1, f.brier, f.error)
		}
	}
	fmt.Fprintln(w, "\nAnomalies by T² and Q, learned from healthy units only, whole units held out")
	fmt.Fprintf(w, "set\tunits\twarned before failure\tmedian warning\talarms while healthy (more than %d cycles left)\n", longest)
	for _, r := range results {
		a := r.anomalies
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f cycles\t%.1f%%\n", r.name, a.units, a.warned, a.warning, 100*a.falseAlarms)
	}
	return w.Flush()
}
