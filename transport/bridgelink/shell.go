package bridgelink

import (
	"github.com/otkit/otkit/discovery/link"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

func shellMessage(s *link.Shell) *platformv1.BridgeShell {
	if s == nil {
		return nil
	}
	n := s.Nameplate
	return &platformv1.BridgeShell{Id: valid(s.ID), IdShort: valid(s.IDShort), AssetKind: valid(s.AssetKind), GlobalAssetId: valid(s.GlobalAssetID),
		EquipmentCategory: valid(s.EquipmentCategory), Nameplate: &platformv1.BridgeNameplate{
			ManufacturerName: valid(n.ManufacturerName), ManufacturerProductDesignation: valid(n.ManufacturerProductDesignation),
			SerialNumber: valid(n.SerialNumber), YearOfConstruction: valid(n.YearOfConstruction),
			HardwareVersion: valid(n.HardwareVersion), SoftwareVersion: valid(n.SoftwareVersion)}}
}

func shellOf(s *platformv1.BridgeShell) *link.Shell {
	if s == nil {
		return nil
	}
	n := s.GetNameplate()
	return &link.Shell{ID: s.GetId(), IDShort: s.GetIdShort(), AssetKind: s.GetAssetKind(), GlobalAssetID: s.GetGlobalAssetId(),
		EquipmentCategory: s.GetEquipmentCategory(), Nameplate: link.Nameplate{
			ManufacturerName: n.GetManufacturerName(), ManufacturerProductDesignation: n.GetManufacturerProductDesignation(),
			SerialNumber: n.GetSerialNumber(), YearOfConstruction: n.GetYearOfConstruction(),
			HardwareVersion: n.GetHardwareVersion(), SoftwareVersion: n.GetSoftwareVersion()}}
}
