package alarmspart

import (
	"context"

	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// references returns the alarm rules that watch tags.
func (a *Alarms) references(ctx context.Context, tagIDs []string) (found []tagspart.Reference, err error) {
	list, err := a.rules.List(ctx)
	if err != nil {
		return nil, err
	}
	asked := make(map[string]bool, len(tagIDs))
	for _, id := range tagIDs {
		asked[id] = true
	}
	for i := range list {
		for _, tag := range []string{list[i].Tag, list[i].SetpointTag} {
			if asked[tag] {
				found = append(found, tagspart.Reference{Tag: tag, Kind: "alarmRule", ID: list[i].ID, Name: list[i].Name})
			}
		}
	}
	return found, nil
}
