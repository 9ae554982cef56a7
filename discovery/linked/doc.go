// Package linked is the engine's side of the links of bridges. To the tag engine, each bound bridge is a driver.
package linked
