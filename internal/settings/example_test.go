package settings_test

import (
	"fmt"
	"os"
	"time"

	"github.com/otkit/otkit/internal/settings"
)

// Pump has the settings of a small program.
type Pump struct {
	Motor Motor `key:"motor" doc:"The drive."`
}

type Motor struct {
	Speed    int           `key:"speed" default:"1500" rule:"0..3000" doc:"Revolutions per minute."`
	StartUp  time.Duration `key:"startUp" rule:"0.." doc:"Time to reach the speed."`
	Password string        `key:"password" secret:"true" doc:"Password of the drive."`
}

// Validate implements settings.Validator.
func (m Motor) Validate(p *settings.Problems) {
	p.Must(m.Speed > 0 || m.StartUp == 0, "startUp", "must be 0 for a motor that stands still")
}

func Example() {
	origins := make(settings.Origins)
	pump, warnings, err := settings.Load(settings.Defaults[Pump](), settings.Options{
		Environ: []string{"MOTOR__PASSWORD=geheim", "Motor__StartUp=2s", "Motor__Sped=7", "GIT__X=1"},
		Origins: origins,
	})
	fmt.Println(warnings, err)
	_ = settings.Print(os.Stdout, pump, origins)

	_, _, err = settings.Load(settings.Defaults[Pump](), settings.Options{Flags: map[string]any{"motor.speed": 4000, "motor.startUp": -time.Second}})
	fmt.Println(err)
	// Output:
	// [environment variable Motor__Sped names no setting and is ignored; did you mean Motor__Speed?] <nil>
	// motor:
	//   speed: 1500
	//   startUp: 2s # environment variable Motor__StartUp
	//   password: '****' # environment variable MOTOR__PASSWORD
	// settings are not valid: motor.speed must be 0 to 3000, not 4000 (flag); motor.startUp must be at least 0, not -1s (flag)
}
