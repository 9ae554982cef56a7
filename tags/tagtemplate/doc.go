// Package tagtemplate defines the tags of devices of one type in one place. A [Template] has parameters, and tags and derived tags
// whose texts name them as ${name}; an [Instance] gives values for one device. A text that is a parameter alone takes its type,
// so that "minValue": "${low}" is a number. ${name+3} adds to an Int, as addresses need it; ${instance} is the id of the instance.
//
// What instances define is the base over which the tag configuration lies. A change of a template changes the tags of all instances.
package tagtemplate
