package aasapi

import (
	"net/http"
	"strconv"

	"github.com/otkit/otkit/aas"
)

// lookup answers with the ids of the shells that have all of some asset ids.
func (c *call) lookup(links []aas.SpecificAssetID) error {
	const list = "lookup"
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(list)
	if err != nil {
		return err
	}
	ids, more, err := c.service.LookupShells(c.ctx(), links, after, limit)
	if err != nil {
		return err
	}
	next := ""
	if more && len(ids) > 0 {
		next = encodeCursor(list, ids[len(ids)-1])
	}
	l := newList(64*len(ids)+64, next)
	for _, id := range ids {
		l.separate()
		l.buf = appendText(l.buf, id)
	}
	return c.json(http.StatusOK, l.end())
}

func lookupShells(c *call) error {
	links, err := c.assetIDs()
	if err != nil {
		return err
	}
	return c.lookup(links)
}

func (c *call) sentLinks() ([]aas.SpecificAssetID, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	return aas.DecodeList[aas.SpecificAssetID](body)
}

func searchShells(c *call) error {
	links, err := c.sentLinks()
	if err != nil {
		return err
	}
	if len(links) > maxAssetIDs {
		return invalid("body", "has more than "+strconv.Itoa(maxAssetIDs)+" asset ids")
	}
	return c.lookup(links)
}

func getAssetLinks(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	links, err := c.service.AssetLinks(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, aas.AppendList(nil, links))
}

func postAssetLinks(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	links, err := c.sentLinks()
	if err != nil {
		return err
	}
	if err := c.service.LinkAssets(c.ctx(), id, links); err != nil {
		return err
	}
	return c.created(c.urlPath(), aas.AppendList(nil, links))
}

func deleteAssetLinks(c *call) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	if err := c.service.UnlinkAssets(c.ctx(), id); err != nil {
		return err
	}
	return c.noContent()
}
