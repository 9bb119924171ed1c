// Package credentials reads tokens, certificates and keys that users name in flags,
// variables and settings files. One rule holds for whoever shows them and for whoever
// demands them. Its errors say which setting, which file, what is there and what would
// be right; no text of a secret is in them.
package credentials
