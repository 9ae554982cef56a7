package main

import (
	"fmt"
	"html/template"
	"os"
)

var page = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Remaining life</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1340px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
figure { display: inline-block; margin: 0 1em 1em 0; width: 420px; vertical-align: top } svg { max-width: 100%; height: auto }
.grid { stroke: #e4e4e4; fill: none } .ideal { stroke: #999; stroke-dasharray: 4 4; fill: none }
.interval { stroke: #9ac; fill: none } .series, .series2 { stroke: #06c; fill: none; stroke-width: 2 } .series2 { stroke: #c60 }
.limit { stroke: #c00; stroke-dasharray: 6 3; fill: none } .point { fill: #06c } .point2 { fill: #c60 }
.tick { font-size: 11px; fill: #666 } .label { font-size: 12px; fill: #222 }
pre { overflow-x: auto }
</style></head><body>
<h1>Remaining life</h1>
<pre>{{.Table}}</pre>
{{range .Sets}}<h2>{{.Name}}</h2>
{{range .Figures}}<figure>{{.Plot}}<figcaption>{{.Caption}}</figcaption></figure>
{{end}}{{end}}</body></html>
`))

type figure struct {
	Plot    template.HTML
	Caption string
}

// writeReport writes a page with the table and three plots of each set.
func writeReport(path, table string, results []result) error {
	type set struct {
		Name    string
		Figures []figure
	}
	var sets []set
	for _, r := range results {
		sets = append(sets, set{r.name, []figure{r.rul.plot(), plotReliability(r.failures), r.anomalies.plot()}})
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := page.Execute(file, map[string]any{"Table": table, "Sets": sets}); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

func (r *rul) plot() figure {
	p := newPlot(0, longest, 0, longest, "true remaining life (cycles)", "predicted (cycles)")
	p.line("ideal", []float64{0, longest}, []float64{0, longest})
	for i, actual := range r.actual {
		p.line("interval", []float64{actual, actual}, []float64{r.low[i], r.high[i]})
	}
	for i, actual := range r.actual {
		p.dot("point", actual, r.predicted[i], fmt.Sprintf("unit %d: true %.0f, predicted %.0f (%.0f to %.0f)", i+1, actual, r.predicted[i], r.low[i], r.high[i]))
	}
	return figure{template.HTML(p.String()), fmt.Sprintf("Test units with 90%% intervals: RMSE %.2f, %.0f%% in their interval.", r.rmse, 100*r.covered)}
}

func plotReliability(list []failure) figure {
	p := newPlot(0, 1, 0, 1, fmt.Sprintf("predicted probability of failure within %d cycles", horizon), "share that failed")
	p.line("ideal", []float64{0, 1}, []float64{0, 1})
	caption := ""
	for i, f := range list {
		line, point, name := "series", "point", "all features (blue)"
		if i > 0 {
			line, point, name = "series2", "point2", f.tag+" only (orange)"
		}
		var xs, ys []float64
		for _, bin := range f.reliability {
			xs, ys = append(xs, bin.Predicted), append(ys, bin.Observed)
			p.dot(point, bin.Predicted, bin.Observed, fmt.Sprintf("%d cycles", bin.Count))
		}
		p.line(line, xs, ys)
		caption += fmt.Sprintf("%s: calibration error %.4f. ", name, f.error)
	}
	return figure{template.HTML(p.String()), caption}
}

func (a *anomalies) plot() figure {
	top := 5.
	p := newPlot(a.remaining[0], 0, 0, top, "cycles before failure", "index of T² and Q")
	p.line("limit", []float64{a.remaining[0], 0}, []float64{1, 1})
	p.line("series", a.remaining, a.index)
	return figure{template.HTML(p.String()), fmt.Sprintf("A unit that the monitor has not seen, from its first cycle to its failure. Above 1 is anomalous; values above %.0f are cut.", top)}
}
