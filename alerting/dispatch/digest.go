package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/fault"
)

const (
	digestLines = 20        // messages below Critical that a digest names
	digestSize  = 256 << 10 // bytes of the lines about Critical alarms in one digest; what exceeds them waits for the next one
	digestLine  = 200       // characters of the title in a line
)

// split divides claimed deliveries for a channel that may send n messages: those to send, those to combine into one digest, which is
// the last of the n, and those to release. The most severe are sent. Deliveries that may have arrived already are sent alone, because a
// digest would repeat them, as long as a place is left for all the others. After a crash there can be thousands of them: one by one they
// would hold up every other message for hours.
func split(claimed []outbox.Delivery, n int) (send, combine, release []outbox.Delivery) {
	if len(claimed) <= n {
		return claimed, nil, nil
	}
	var uncertain []outbox.Delivery
	for _, d := range claimed {
		switch {
		case d.Notification.Digest > 0:
			send = append(send, d)
		case d.Uncertain:
			uncertain = append(uncertain, d)
		default:
			combine = append(combine, d)
		}
	}
	if len(send) >= n {
		return send[:n], nil, slices.Concat(send[n:], uncertain, combine)
	}
	if len(send)+len(uncertain) < n {
		send = append(send, uncertain...)
	} else {
		combine = append(combine, uncertain...)
	}
	slices.SortStableFunc(combine, func(a, b outbox.Delivery) int {
		return cmp.Compare(weight(&b.Notification), weight(&a.Notification))
	})
	alone := n - 1 - len(send)
	send, combine = append(send, combine[:alone]...), combine[alone:]
	fits := digestFits(combine)
	return send, combine[:fits], combine[fits:]
}

// digestFits returns how many deliveries, the most severe first, one digest can name.
func digestFits(list []outbox.Delivery) int {
	size := 0
	for i := range list {
		if weight(&list[i].Notification) == alarms.Critical {
			size += len(digestTitle(&list[i].Notification)) + len(" (+10000)\n")
		}
		if size > digestSize && i > 1 {
			return i
		}
	}
	return len(list)
}

// weight is the severity of a message. That an alarm has cleared is an Info.
func weight(n *alerting.Notification) alarms.Severity {
	if n.Resolved {
		return alarms.Info
	}
	return n.Severity
}

// digestTitle is the line of a message in a digest. It names the source of the alarm.
func digestTitle(n *alerting.Notification) string {
	line := truncate(digestLine, n.Title)
	if weight(n) == alarms.Critical && !strings.Contains(line, n.Source) {
		return n.Source + ": " + line
	}
	return line
}

// digest returns the notification that replaces the given deliveries, the most severe of which come first. It names every source of
// a Critical alarm, and some of the others. A channel that shortens texts shows link, where all of them are listed.
func digest(id string, list []outbox.Delivery, link func(alerting.DigestContent) string) alerting.Notification {
	first := &list[0].Notification
	n := alerting.Notification{
		ID: id, EventID: id, Channel: first.Channel, Recipient: first.Recipient, Severity: weight(first), At: first.At, Digest: len(list),
		Message: fmt.Sprintf("%d more alarm messages", len(list)),
	}
	content := alerting.DigestContent{ID: id, Severity: n.Severity, From: first.At, To: first.At}
	for i := range list {
		if at := list[i].Notification.At; at.After(content.To) {
			content.To = at
		} else if at.Before(content.From) {
			content.From = at
		}
	}
	n.At = content.To
	n.Title = n.Message + " (" + countBySeverity(list) + ")"
	n.Body = n.Title
	if link != nil {
		n.Link = link(content)
		n.Body += "\nAll of them: " + n.Link
	}
	n.Body += "\n\n" + digestBody(list)
	return n
}

func countBySeverity(list []outbox.Delivery) string {
	counts, resolved := make(map[alarms.Severity]int), 0
	for i := range list {
		if list[i].Notification.Resolved {
			resolved++
		} else {
			counts[list[i].Notification.Severity]++
		}
	}
	var parts []string
	for _, s := range slices.Backward(alarms.Severities()) {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if resolved > 0 {
		parts = append(parts, fmt.Sprintf("%d resolved", resolved))
	}
	return strings.Join(parts, ", ")
}

func digestBody(list []outbox.Delivery) string {
	var (
		lines []string
		more  []int                     // further Critical alarms of the source of a line
		named = make(map[[2]string]int) // lines by the source of Critical alarms
		rest  int
	)
	for i := range list {
		n := &list[i].Notification
		critical := weight(n) == alarms.Critical
		source := [2]string{n.SourceType, n.Source}
		if at, known := named[source]; critical && known && n.Source != "" {
			more[at]++
			continue
		}
		if !critical && len(lines) >= digestLines {
			rest++
			continue
		}
		if critical {
			named[source] = len(lines)
		}
		lines, more = append(lines, digestTitle(n)), append(more, 0)
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		if more[i] > 0 {
			fmt.Fprintf(&b, " (+%d)", more[i])
		}
		b.WriteByte('\n')
	}
	if rest > 0 {
		fmt.Fprintf(&b, "and %d more\n", rest)
	}
	return strings.TrimSpace(b.String())
}

// Digest returns a page of the messages that a digest combines, in the order in which they happened. Pages count from 1 and have
// 1..[outbox.MaxDigestMessages] messages. If there is no such digest, or the outbox is not an [outbox.DigestReader], Digest returns
// [outbox.ErrDigestNotFound].
func (d *Dispatcher) Digest(ctx context.Context, id string, page, pageSize int) (outbox.DigestPage, error) {
	switch {
	case page < 1 || page > canon.MaxOffset/outbox.MaxDigestMessages:
		return outbox.DigestPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "is out of range"})
	case pageSize < 1:
		return outbox.DigestPage{}, alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "pageSize", Message: "must be at least 1"})
	case pageSize > outbox.MaxDigestMessages:
		return outbox.DigestPage{}, alerting.ErrPageSizeExceeded.Invalid(fault.Field{Field: "pageSize", Message: fmt.Sprintf("must be at most %d", outbox.MaxDigestMessages)})
	}
	guid, ok := canon.ID(id)
	reader, can := d.deps.Outbox.(outbox.DigestReader)
	if !ok || !can {
		return outbox.DigestPage{}, outbox.ErrDigestNotFound.On("id", id)
	}
	list, total, err := reader.DigestMessages(ctx, guid, (page-1)*pageSize, pageSize)
	if err == nil && total == 0 {
		err = outbox.ErrDigestNotFound.On("id", id)
	}
	return outbox.DigestPage{Deliveries: list, Total: int(total)}, err
}
