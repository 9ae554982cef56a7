package busstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
)

func Example() {
	join := func(ctx context.Context, dsn string) (bus.Bus, error) {
		db, err := postgres.Open(ctx, postgres.Options{DSN: dsn}, busstore.Schema())
		if err != nil {
			return nil, err
		}
		return busstore.New(ctx, db, busstore.Options{}) // it ends with db
	}
	_, err := join(context.Background(), "host=db.example.com port=wrong")
	fmt.Println(errors.Is(err, storage.ErrOption))
	// Output: true
}
