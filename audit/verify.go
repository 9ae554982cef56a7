package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Report is what [Log.Verify] found.
type Report struct {
	Anchor  Link  // the last entry that retention removed; zero if there is none
	Head    Link  // the newest entry
	Entries int64 // entries checked
	// Problem describes the first thing that is wrong with the chain; empty if it is intact. Seq is the number of the
	// entry it is about.
	Problem string
	Seq     int64
}

// Intact reports whether nothing is wrong with the chain.
func (r Report) Intact() bool { return r.Problem == "" }

const verifyPage = 1000

// Verify walks the chain from its anchor to its head. known are positions that were noted earlier, such as those that Head
// returned: they must be in the chain, as far as retention has not removed them. An error means that the store could not be
// read; what is wrong with the chain is in the report.
func (l *Log) Verify(ctx context.Context, known ...Link) (Report, error) {
	l.flush(ctx)
	for {
		report, moved, err := l.verify(ctx, known)
		if err != nil || !moved {
			return report, err
		}
	}
}

// verify is one walk; moved reports that retention came in between.
func (l *Log) verify(ctx context.Context, known []Link) (r Report, moved bool, err error) {
	if r.Anchor, r.Head, err = l.store.Ends(ctx); err != nil {
		return r, false, err
	}
	w := walk{report: &r, at: r.Anchor, known: known}
	for w.at.Seq < r.Head.Seq && r.Intact() {
		page, err := l.store.Entries(ctx, w.at.Seq, int(min(verifyPage, r.Head.Seq-w.at.Seq)))
		if err != nil {
			return r, false, err
		}
		if len(page) == 0 {
			w.problem(w.at.Seq+1, "entries are missing at the end of the chain")
		}
		for _, e := range page {
			if w.step(e); !r.Intact() {
				break
			}
		}
	}
	w.finish()
	if r.Intact() {
		return r, false, nil
	}
	anchor, _, err := l.store.Ends(ctx)
	return r, anchor != r.Anchor, err
}

// walk is the state of a verification.
type walk struct {
	report *Report
	at     Link // the last entry that is known to be good
	known  []Link
	anchor Link // as the newest notice of retention has it
}

func (w *walk) problem(seq int64, format string, args ...any) {
	if w.report.Problem == "" {
		w.report.Problem, w.report.Seq = fmt.Sprintf(format, args...), seq
	}
}

// step checks the next entry.
func (w *walk) step(e Entry) {
	want := e.Seal(w.at)
	switch {
	case e.Seq != want.Seq:
		w.problem(want.Seq, "entry %d is missing", want.Seq)
	case e.Hash != want.Hash:
		w.problem(e.Seq, "entry %d, or the one before it, was changed", e.Seq)
	case slices.ContainsFunc(w.known, func(k Link) bool { return k.Seq == e.Seq && k.Hash != e.Hash }):
		w.problem(e.Seq, "entry %d is not the one that was noted", e.Seq)
	}
	w.at = want.Link()
	w.report.Entries++
	if e.Action == TrimAction && e.Actor == System {
		var n Notice
		if json.Unmarshal([]byte(e.After), &n) == nil {
			if hash, ok := ParseHash(n.Hash); ok {
				w.anchor = Link{n.LastSeq, hash}
			}
		}
	}
}

// finish checks the ends of the chain.
func (w *walk) finish() {
	if w.at != w.report.Head {
		w.problem(w.report.Head.Seq, "the head of the chain is not entry %d", w.at.Seq)
	}
	if w.report.Anchor != w.anchor {
		w.problem(w.report.Anchor.Seq+1, "the oldest entries were not removed by retention")
	}
	for _, k := range w.known {
		if k.Seq > w.report.Head.Seq {
			w.problem(k.Seq, "entry %d was noted and is not there", k.Seq)
		}
		if k.Seq == w.report.Anchor.Seq && k != w.report.Anchor {
			w.problem(k.Seq, "entry %d is not the one that was noted", k.Seq)
		}
	}
}
