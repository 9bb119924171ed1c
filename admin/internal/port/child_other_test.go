//go:build !unix

package port

func limitFiles(int) error { return nil }
