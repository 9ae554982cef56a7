package settings_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/otkit/otkit/internal/settings"
)

// Pump has the settings of a small program.
type Pump struct {
	Motor struct {
		Speed    int           `koanf:"speed" doc:"Revolutions per minute, up to 3000."`
		StartUp  time.Duration `koanf:"startUp" doc:"Time to reach the speed."`
		Password string        `koanf:"password" secret:"true" doc:"Password of the drive."`
	} `koanf:"motor" doc:"The drive."`
}

// Validate implements settings.Validator.
func (p Pump) Validate() error {
	var bad []error
	if p.Motor.Speed > 3000 {
		bad = append(bad, errors.New("motor.speed must be up to 3000"))
	}
	if p.Motor.StartUp < 0 {
		bad = append(bad, errors.New("motor.startUp must not be negative"))
	}
	return errors.Join(bad...)
}

func Example() {
	var defaults Pump
	defaults.Motor.Speed = 1500

	origins := make(settings.Origins)
	pump, warnings, err := settings.Load(defaults, settings.Options{
		Environ: []string{"MOTOR__PASSWORD=geheim", "Motor__StartUp=2s", "Motor__Sped=7", "GIT__X=1"},
		Origins: origins,
	})
	fmt.Println(warnings, err)
	_ = settings.Print(os.Stdout, pump, origins)

	_, _, err = settings.Load(defaults, settings.Options{Flags: map[string]any{"motor.speed": 4000, "motor.startUp": -time.Second}})
	fmt.Println(err)
	// Output:
	// [environment variable Motor__Sped names no setting and is ignored; did you mean Motor__Speed?] <nil>
	// motor:
	//   speed: 1500
	//   startUp: 2s # environment variable Motor__StartUp
	//   password: '****' # environment variable MOTOR__PASSWORD
	// settings are not valid: motor.speed must be up to 3000 (flag); motor.startUp must not be negative (flag)
}
