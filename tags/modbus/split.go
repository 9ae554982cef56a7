package modbus

import (
	"time"
)

// A round halves at most so many runs, or one for so many points, to find out which part of them a
// device refuses; the rest is for the next one. A run of which no part could be read is asked for as a
// whole for so long.
const (
	maxSplits       = 100
	pointsPerSplit  = 5
	splitAgainAfter = time.Minute
)

// splitting is the search for the part of a run that a device refuses.
type splitting struct {
	run   run
	began bool    // the run was halved
	ended bool    // before its end: the unit gave no answer any more
	read  bool    // some part was read
	alone []block // refused by themselves, by an exception that may be about the device as a whole
}

// part is a run, or a part of one that the device refused.
type part struct {
	run   run
	split *splitting
	may   bool  // it may be halved for a refusal that does not surely mean an address
	of    *part // that this is a half of; nil for the run

	// Once it is halved.
	lacks  bool // the refusal named an address
	second run  // still to be asked for; without items once it is
	start  uint16
	read   bool // some of it was read
	blamed bool // something in it cannot be read, so that its length is not to blame
}

// whole returns the part that is all of a run. It is mostly read at once, so that the same part will do.
func (r *round) whole(run run) *part {
	p := r.spare
	if p == nil || p.split.began {
		p = &part{split: new(splitting)}
		r.spare = p
	}
	*p.split = splitting{run: run}
	*p = part{run: run, split: p.split, may: !r.driver.now().Before(r.driver.plans.whole[run.block()])}
	return p
}

// halve puts the first half of a part that the device refused in its place, for which finish then puts
// the second one. It reports whether that is worth it: where p.may is not set, only the refusal that
// surely means an address is.
func (r *round) halve(p *part, err error) bool {
	if !maySplit(err) {
		return false
	}
	plans := &r.driver.plans
	lacks := lacksAddress(err)
	m := r.plan.middle(p.run.items)
	if m == 0 {
		if b := r.plan.parsed[p.run.items[0]].block(); lacks {
			plans.isolate(b)
		} else {
			p.split.alone = append(p.split.alone, b)
		}
		return false
	}
	if r.splits == 0 || !p.may && !lacks {
		return false
	}
	r.splits--
	r.left++
	p.split.began = true
	p.lacks, p.second = lacks, r.plan.runOf(p.run.items[m:])
	p.start = p.second.start
	r.parts = append(r.parts, &part{run: r.plan.runOf(p.run.items[:m]), split: p.split, may: true, of: p})
	return true
}

// finish ends a part. A device that refuses everything for a while must not be asked for each point by
// itself: unless the refusal names an address, a second half is not halved when nothing of the first
// one could be read.
func (r *round) finish(p *part, read, blamed bool) {
	whole := p.of
	if whole == nil {
		r.learn(p.split)
		return
	}
	whole.read, whole.blamed = whole.read || read, whole.blamed || blamed
	if second := whole.second; len(second.items) > 0 {
		whole.second = run{}
		r.parts = append(r.parts, &part{run: second, split: p.split, may: whole.lacks || whole.read, of: whole})
		return
	}
	if !whole.blamed {
		// No point is to blame: the gap between the halves is, or the length of the whole.
		r.driver.plans.cut(whole.run.place, whole.start)
	}
	r.finish(whole, whole.read, whole.blamed)
}

// learn remembers what the end of a run has shown.
func (r *round) learn(s *splitting) {
	d := r.driver
	switch {
	case s.read:
		for _, b := range s.alone {
			d.plans.isolate(b)
		}
	case !s.ended && s.began && r.splits > 0:
		d.plans.keepWhole(s.run.block(), d.now().Add(splitAgainAfter))
	}
}
