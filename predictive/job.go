package predictive

import "time"

// JobState is the state of a [Job].
type JobState string

// The states of a job.
const (
	JobRunning   JobState = "Running"
	JobSucceeded JobState = "Succeeded"
	JobFailed    JobState = "Failed"
	JobCanceled  JobState = "Canceled"
)

// Job is a training as it was when it was asked for.
type Job struct {
	ID        string
	ModelType ModelType
	State     JobState
	// Progress is the share that is done, from 0 to 1, and Stage says what is done now.
	Progress  float64
	Stage     string
	StartedAt time.Time
	EndedAt   time.Time
	// Training is the result of a job that succeeded or failed.
	Training *Training
}
