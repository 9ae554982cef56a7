package license_test

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/otkit/otkit/discovery/license"
)

// A vendor makes a pair of keys once, signs a license with the private one, and publishes the other.
func Example() {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	issued := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	key, err := license.Sign(private, license.License{Licensee: "Acme Pumps", Edition: "professional", BridgeID: "press-7",
		Features: []string{"support"}, IssuedAt: issued, ExpiresAt: issued.AddDate(1, 0, 0)})
	if err != nil {
		panic(err)
	}

	l, err := license.Parse(key, []ed25519.PublicKey{public})
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Licensee, l.Edition, l.Check("press-7", issued.AddDate(0, 6, 0)))
	fmt.Println(l.Check("press-8", issued.AddDate(0, 6, 0)))
	// Output:
	// Acme Pumps professional <nil>
	// the license is for another bridge: it names "press-7", and this bridge is "press-8"
}
