package historystore

import "context"

// CompactDue compacts what the store would compact by itself.
func (h *Store) CompactDue(ctx context.Context) error { return h.compactDue(ctx) }
