// Package xlsx reads and writes one sheet of Office Open XML workbooks (ECMA-376) row by row, so that memory does not
// grow with the number of rows. It uses no temporary files.
package xlsx
