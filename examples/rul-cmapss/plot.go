package main

import (
	"fmt"
	"math"
	"strings"
)

// plot is a drawing in SVG with two axes.
type plot struct {
	x0, x1, y0, y1 float64
	body           strings.Builder
}

const (
	plotWidth, plotHeight   = 420., 320.
	marginLeft, marginRight = 52., 12.
	marginTop, marginBottom = 12., 44.
	ticks                   = 5
	innerWidth, innerHeight = plotWidth - marginLeft - marginRight, plotHeight - marginTop - marginBottom
)

// newPlot returns axes from x0 to x1 and from y0 to y1. An axis may run down.
func newPlot(x0, x1, y0, y1 float64, labelX, labelY string) *plot {
	p := &plot{x0: x0, x1: x1, y0: y0, y1: y1}
	for i := range ticks + 1 {
		x, y := x0+(x1-x0)*float64(i)/ticks, y0+(y1-y0)*float64(i)/ticks
		p.line("grid", []float64{x, x}, []float64{y0, y1})
		p.line("grid", []float64{x0, x1}, []float64{y, y})
		p.text("tick", p.x(x), marginTop+innerHeight+16, "middle", number(x))
		p.text("tick", marginLeft-6, p.y(y)+4, "end", number(y))
	}
	p.text("label", marginLeft+innerWidth/2, plotHeight-6, "middle", labelX)
	fmt.Fprintf(&p.body, `<text class="label" text-anchor="middle" transform="translate(13 %.0f) rotate(-90)">%s</text>`+"\n", marginTop+innerHeight/2, labelY)
	return p
}

func number(v float64) string { return fmt.Sprintf("%.4g", v) }

// x and y return the place of a value, at the edge for one outside of the axes.
func (p *plot) x(v float64) float64 { return marginLeft + innerWidth*share(v, p.x0, p.x1) }
func (p *plot) y(v float64) float64 { return marginTop + innerHeight*(1-share(v, p.y0, p.y1)) }

func share(v, from, to float64) float64 { return math.Min(math.Max((v-from)/(to-from), 0), 1) }

func (p *plot) line(class string, xs, ys []float64) {
	fmt.Fprintf(&p.body, `<polyline class="%s" points="`, class)
	for i := range xs {
		fmt.Fprintf(&p.body, "%.1f,%.1f ", p.x(xs[i]), p.y(ys[i]))
	}
	p.body.WriteString("\"/>\n")
}

func (p *plot) dot(class string, x, y float64, title string) {
	fmt.Fprintf(&p.body, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`+"\n", class, p.x(x), p.y(y), title)
}

func (p *plot) text(class string, x, y float64, anchor, text string) {
	fmt.Fprintf(&p.body, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, text)
}

// String returns the drawing.
func (p *plot) String() string {
	return fmt.Sprintf("<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\">\n%s</svg>", plotWidth, plotHeight, plotWidth, plotHeight, p.body.String())
}
