package oneport

// FitConns returns how many connections may be open concurrently, at most most, so that the limit of open files leaves
// some for storage, devices and channels.
func FitConns(most int) int { return fitConns(most, openFiles()) }

func fitConns(most int, files uint64) int {
	const least, greatest = 128, 1024
	if files >= uint64(most)+greatest+lobbyPlaces {
		return most
	}
	limit := int(files) // below most and some, so that it fits
	return min(most, max(limit-min(max(limit/8, least), greatest)-lobbyPlaces, limit/4, 1))
}
