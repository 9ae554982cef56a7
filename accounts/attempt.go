package accounts

// Attempt is a login, or a change of password, that was decided. Services of one store, such as those of several engines, tell each other, so that who
// guesses passwords has no more attempts with them than with one.
type Attempt struct {
	Key    []byte // of the name and the address
	Failed bool   // else the password was right, and what failed before is forgotten
}

// decided counts an attempt, and tells other services.
func (s *Service) decided(from pair, o outcome) {
	key := from.key()
	s.throttle.end(key, o)
	if o != undecided {
		s.opts.OnAttempt(Attempt{Key: key[:], Failed: o == wrong})
	}
}

// Note counts an attempt that another service has passed to its Options.OnAttempt.
func (s *Service) Note(a Attempt) {
	if len(a.Key) != len(attemptKey{}) {
		return
	}
	o := right
	if a.Failed {
		o = wrong
	}
	s.throttle.note(attemptKey(a.Key), o)
}
