package modelstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
)

// jobText is what a row has as JSON.
type jobText struct {
	Progress  float64       `json:"progress"`
	Stage     string        `json:"stage"`
	StartedAt time.Time     `json:"startedAt"`
	EndedAt   time.Time     `json:"endedAt,omitzero"`
	Training  *trainingText `json:"training,omitempty"`
}

type trainingText struct {
	Success   bool      `json:"success"`
	Version   int       `json:"version"`
	TrainedAt time.Time `json:"trainedAt,omitzero"`
	Samples   int       `json:"samples"`
	Accuracy  float64   `json:"accuracy"`
	Precision float64   `json:"precision"`
	Recall    float64   `json:"recall"`
	F1Score   float64   `json:"f1Score"`
	Message   string    `json:"message"`
}

func encodeJob(j *predictive.Job) (string, error) {
	text := jobText{Progress: j.Progress, Stage: j.Stage, StartedAt: j.StartedAt.UTC(), EndedAt: j.EndedAt.UTC()}
	if t := j.Training; t != nil {
		text.Training = &trainingText{t.Success, t.Version, t.TrainedAt.UTC(), t.TrainingSamples, t.Accuracy, t.Precision, t.Recall, t.F1Score, t.Message}
	}
	data, err := json.Marshal(text)
	return string(data), err
}

const jobColumns = "id, model_type, state, canceled, engine, job"

func scanJob(row storage.Scanner) (j predictive.Job, err error) {
	var data string
	if err := row.Scan(&j.ID, (*string)(&j.ModelType), (*string)(&j.State), &j.Canceled, &j.Engine, &data); err != nil {
		return j, err
	}
	var text jobText
	if err := json.Unmarshal([]byte(data), &text); err != nil {
		return j, storage.ErrCorrupt.On("job", j.ID).Wrap(err)
	}
	j.Progress, j.Stage, j.StartedAt, j.EndedAt = text.Progress, text.Stage, text.StartedAt, text.EndedAt
	if t := text.Training; t != nil {
		j.Training = &predictive.Training{Success: t.Success, ModelType: j.ModelType, Version: t.Version, TrainedAt: t.TrainedAt, TrainingSamples: t.Samples,
			Accuracy: t.Accuracy, Precision: t.Precision, Recall: t.Recall, F1Score: t.F1Score, Message: t.Message}
	}
	return j, nil
}

// updateJobs runs a transaction that no other one of the jobs runs beside.
func (s *Store) updateJobs(ctx context.Context, op string, change func(context.Context, *storage.Tx) error) error {
	return s.set.Update(ctx, op, func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "predictive_jobs"); err != nil {
			return err
		}
		return change(ctx, tx)
	})
}

// nextPosition is that of a change. The lock makes it that of one alone.
const nextPosition = "(SELECT COALESCE(MAX(p.position), 0) + 1 FROM predictive_jobs p)"

// BeginJob implements [predictive.JobStore].
func (s *Store) BeginJob(ctx context.Context, j predictive.Job, keep int) (running predictive.Job, begun bool, err error) {
	text, err := encodeJob(&j)
	if err != nil {
		return running, false, err
	}
	err = s.updateJobs(ctx, "models.beginJob", func(ctx context.Context, tx *storage.Tx) error {
		running, begun = j, true
		err := tx.Each(ctx, "SELECT "+jobColumns+" FROM predictive_jobs WHERE model_type = ? AND state = ? AND NOT canceled", []any{string(j.ModelType), string(predictive.JobRunning)},
			func(row storage.Scanner) (err error) {
				running, err = scanJob(row)
				begun = false
				return err
			})
		if err != nil || !begun {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO predictive_jobs (`+jobColumns+`, number, position) VALUES (?, ?, ?, ?, ?, ?,
			(SELECT COALESCE(MAX(n.number), 0) + 1 FROM predictive_jobs n), `+nextPosition+")",
			storage.Text(j.ID), string(j.ModelType), string(j.State), j.Canceled, storage.Text(j.Engine), text); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM predictive_jobs WHERE id IN (SELECT id FROM predictive_jobs WHERE state <> ? ORDER BY number DESC LIMIT ? OFFSET
			(SELECT CASE WHEN COUNT(*) < ? THEN ? - COUNT(*) ELSE 0 END FROM predictive_jobs WHERE state = ?))`,
			string(predictive.JobRunning), int64(1)<<40, keep, keep, string(predictive.JobRunning))
		return err
	})
	return running, begun && err == nil, err
}

// UpdateJob implements [predictive.JobStore].
func (s *Store) UpdateJob(ctx context.Context, j predictive.Job) error {
	text, err := encodeJob(&j)
	if err != nil {
		return err
	}
	return s.updateJobs(ctx, "models.updateJob", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE predictive_jobs SET state = ?, canceled = (canceled OR ?), job = ?, position = "+nextPosition+" WHERE id = ? AND (state = ? OR ?)",
			string(j.State), j.Canceled, text, storage.Text(j.ID), string(predictive.JobRunning), j.State == predictive.JobSucceeded)
		return err
	})
}

// CancelJob implements [predictive.JobStore].
func (s *Store) CancelJob(ctx context.Context, id string) (j predictive.Job, err error) {
	err = s.updateJobs(ctx, "models.cancelJob", func(ctx context.Context, tx *storage.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE predictive_jobs SET canceled = ?, position = "+nextPosition+" WHERE id = ? AND state = ? AND NOT canceled",
			true, storage.Text(id), string(predictive.JobRunning)); err != nil {
			return err
		}
		missing := error(predictive.ErrJobNotFound.On("jobId", id))
		err := tx.Each(ctx, "SELECT "+jobColumns+" FROM predictive_jobs WHERE id = ?", []any{storage.Text(id)}, func(row storage.Scanner) (err error) {
			missing = nil
			j, err = scanJob(row)
			return err
		})
		if err != nil {
			return err
		}
		return missing
	})
	return j, err
}

// Jobs implements [predictive.JobStore].
func (s *Store) Jobs(ctx context.Context, after int64) (list []predictive.Job, next int64, err error) {
	err = s.set.View(ctx, "models.jobs", func(ctx context.Context, tx *storage.Tx) error {
		list, next = nil, after
		return tx.Each(ctx, "SELECT "+jobColumns+", position FROM predictive_jobs WHERE position > ? ORDER BY number DESC", []any{after}, func(row storage.Scanner) error {
			var position int64
			j, err := scanJob(withPosition{row, &position})
			list, next = append(list, j), max(next, position)
			return err
		})
	})
	return list, next, err
}

// withPosition scans the position behind the other columns.
type withPosition struct {
	storage.Scanner
	position *int64
}

func (w withPosition) Scan(dest ...any) error { return w.Scanner.Scan(append(dest, w.position)...) }
