package recipients

import (
	"fmt"

	"github.com/otkit/otkit/alerting"
)

// List is the recipients of a channel. The zero List has none. It is not for concurrent use with Add.
type List struct {
	keys      []string
	addresses map[string]string
}

// Add adds recipients whose addresses are their keys.
func (l *List) Add(addresses ...string) {
	for _, a := range addresses {
		l.AddAs(a, a)
	}
}

// AddSecret adds recipients whose addresses are secret.
func (l *List) AddSecret(addresses ...string) {
	for _, a := range addresses {
		l.AddAs(alerting.RecipientKey(a), a)
	}
}

// AddAs adds a recipient. If the key exists, AddAs does nothing.
func (l *List) AddAs(key, address string) {
	if _, known := l.addresses[key]; known {
		return
	}
	if l.addresses == nil {
		l.addresses = make(map[string]string)
	}
	l.keys, l.addresses[key] = append(l.keys, key), address
}

// Recipients implements alerting.RecipientLister.
func (l *List) Recipients() []string { return l.keys }

// Find returns the address that a notification is for. If the recipient is not in the list, the error is permanent.
func (l *List) Find(n alerting.Notification) (string, error) {
	address, ok := l.addresses[n.Recipient]
	if !ok {
		return "", alerting.Permanent(fmt.Errorf("the recipient %q is not configured", n.Recipient))
	}
	return address, nil
}
