package mirror

// Collected returns how many changes wait to be published.
func (m *Mirror) Collected() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.owned {
		n += len(p.dirty)
	}
	return n
}
