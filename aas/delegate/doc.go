// Package delegate carries out operations of submodels by posting them to a URL: the value of the
// operation's qualifier of type [aas.DelegationQualifier].
package delegate
