package bus

const maxSubject = 250

// CheckSubject returns [ErrSubject] for a subject that a [Bus] does not take.
func CheckSubject(subject string) error {
	if len(subject) > maxSubject {
		return ErrSubject.Because("not %d", len(subject))
	}
	token := 0 // bytes of it
	for i := range len(subject) {
		switch c := subject[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			token++
		case c == '.' && token > 0:
			token = 0
		default:
			return ErrSubject.Because("%q", subject)
		}
	}
	if token == 0 {
		return ErrSubject.Because("%q", subject)
	}
	return nil
}

// CheckMessage returns [ErrSubject] for a subject that a [Bus] does not take, and [ErrTooLarge] for data that is larger than [MaxMessage].
func CheckMessage(subject string, data []byte) error {
	if err := CheckSubject(subject); err != nil {
		return err
	}
	if len(data) > MaxMessage {
		return ErrTooLarge.Because("%d bytes, at most %d", len(data), MaxMessage)
	}
	return nil
}
