package modbus

import (
	"context"
	"time"

	"github.com/otkit/otkit/tags"
)

// A Read halves at most so many runs to find out which part of them a device refuses; the rest is for
// the next one. A run of which no part could be read is asked for as a whole for so long.
const (
	mostSplits      = 100
	splitAgainAfter = time.Minute
)

// splitting is the search for the part of a run that a device refuses.
type splitting struct {
	left  *int    // runs that may be halved, of all runs of a Read
	began bool    // the run was halved
	read  bool    // some part was read
	alone []block // refused by themselves, by an exception that may be about the device as a whole
}

// part is what became of a part of a run.
type part struct {
	read   bool // some of it was read
	blamed bool // something in it cannot be read, so that its length is not to blame
}

// readRun reads one run, in parts where the device refuses it. The error is one that leaves no sense in
// asking the unit more; the readings of the run are then set, unless it is for the whole call.
func (d *Driver) readRun(ctx context.Context, p *plan, r run, splits *int, out []tags.Reading) error {
	s := &splitting{left: splits}
	_, err := d.readPart(ctx, p, r, s, !d.now().Before(d.plans.whole[r.block()]), out)
	switch {
	case s.read:
		for _, b := range s.alone {
			d.plans.isolate(b)
		}
	case err == nil && s.began && *splits > 0:
		d.plans.keepWhole(r.block(), d.now().Add(splitAgainAfter))
	}
	return err
}

// readPart reads a part of a run and halves it when the device refuses it. Where may is not set, only
// the refusal that surely means an address is worth that.
func (d *Driver) readPart(ctx context.Context, p *plan, r run, s *splitting, may bool, out []tags.Reading) (part, error) {
	raw, err := d.ask(ctx, r.unit, r.request)
	if err == nil {
		p.take(r, raw, out)
		d.plans.release(p.parsed[r.items[0]].block())
		s.read = true
		return part{read: true}, nil
	}
	if endsCall(err) {
		return part{}, err
	}
	m := 0
	if maySplit(err) {
		m = p.middle(r.items)
		switch b := p.parsed[r.items[0]].block(); {
		case m > 0:
		case lacksAddress(err):
			d.plans.isolate(b)
		default:
			s.alone = append(s.alone, b)
		}
	}
	if m == 0 || *s.left == 0 || !may && !lacksAddress(err) {
		p.fail([]run{r}, err, out)
		if d.breakers.healthy(r.unit) { // it answered
			err = nil
		}
		return part{blamed: true}, err
	}
	*s.left--
	s.began = true
	return d.readHalves(ctx, p, r, m, lacksAddress(err), s, out)
}

// readHalves reads the items of a run before m and from m on. A device that refuses everything for a
// while must not be asked for each point by itself: unless the refusal names an address, the second
// half is not halved when nothing of the first one could be read.
func (d *Driver) readHalves(ctx context.Context, p *plan, r run, m int, lacks bool, s *splitting, out []tags.Reading) (part, error) {
	first, second := p.runOf(r.items[:m]), p.runOf(r.items[m:])
	a, err := d.readPart(ctx, p, first, s, true, out)
	if err != nil {
		if !endsCall(err) {
			p.fail([]run{second}, err, out)
		}
		return a, err
	}
	b, err := d.readPart(ctx, p, second, s, lacks || a.read, out)
	if err == nil && !a.blamed && !b.blamed {
		// No point is to blame: the gap between the halves is, or the length of the whole.
		d.plans.cut(r.place, p.parsed[r.items[m]].start)
	}
	return part{read: a.read || b.read, blamed: a.blamed || b.blamed}, err
}
