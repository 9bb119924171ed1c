package handlers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/eventbus"
)

func TestFile_EndsATornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	tear := func() {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(`{"torn`)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	tear() // by a process before
	f := openFile(t, path)
	event := newEvent("1", "1")
	require.NoError(t, f.Handle(t.Context(), event))
	tear() // by another process meanwhile
	require.NoError(t, f.Handle(t.Context(), event))
	require.NoError(t, f.Handle(t.Context(), event))

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := string(event.AppendCloudEventLine(nil))
	require.Equal(t, `{"torn`+"\n"+whole+`{"torn`+"\n"+whole+whole, string(content))
}

// partial writes half and then fails, as on a full disk.
func partial(file *os.File, p []byte) (int, error) {
	n, err := file.Write(p[:len(p)/2])
	return n, errors.Join(err, syscall.ENOSPC)
}

func TestFile_PartialWriteIsCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	f := openFile(t, path)
	require.NoError(t, f.Handle(t.Context(), newEvent("1", "1")))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	f.out.write = partial
	require.ErrorIs(t, f.Handle(t.Context(), newEvent("2", "1")), syscall.ENOSPC)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))

	f.out.write = nil
	require.NoError(t, f.Handle(t.Context(), newEvent("2", "1")))
	require.Equal(t, []string{"1", "2"}, ids(readLines(t, path)))
}

// What somebody without the lock appended after a partial write is not cut off
// with it.
func TestFile_PartialWriteBeforeForeignLineStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	f := openFile(t, path)
	f.out.write = func(file *os.File, p []byte) (int, error) {
		n, err := partial(file, p)
		_, foreign := file.WriteString("\nforeign\nforeign, torn")
		return n, errors.Join(err, foreign)
	}
	require.ErrorIs(t, f.Handle(t.Context(), newEvent("1", "1")), syscall.ENOSPC)
	f.out.write = nil
	event := newEvent("1", "1")
	require.NoError(t, f.Handle(t.Context(), event))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(content), "\nforeign\nforeign, torn\n"+string(event.AppendCloudEventLine(nil)))
}

func TestFile_FollowsRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	f := openFile(t, path)
	require.NoError(t, f.Handle(t.Context(), newEvent("1", "1")))
	require.NoError(t, os.Rename(path, path+".1"))
	require.NoError(t, f.Handle(t.Context(), newEvent("2", "1")))
	require.NoError(t, os.Remove(path))
	require.NoError(t, f.Handle(t.Context(), newEvent("3", "1")))
	require.NoError(t, os.Rename(path, path+".3"))
	require.NoError(t, os.WriteFile(path, nil, 0o600)) // as logrotate's "create"
	require.NoError(t, f.Handle(t.Context(), newEvent("4", "1")))
	require.Equal(t, []string{"1"}, ids(readLines(t, path+".1")))
	require.Equal(t, []string{"3"}, ids(readLines(t, path+".3")))
	require.Equal(t, []string{"4"}, ids(readLines(t, path)))
}

func TestFile_DirectoryGoesAndComesBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.Mkdir(dir, 0o700))
	f := openFile(t, filepath.Join(dir, "out"))
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorIs(t, f.Handle(t.Context(), newEvent("1", "1")), fs.ErrNotExist)
	require.ErrorIs(t, f.Handle(t.Context(), newEvent("1", "1")), fs.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, f.Handle(t.Context(), newEvent("1", "1")))
	require.Equal(t, []string{"1"}, ids(readLines(t, filepath.Join(dir, "out"))))
}

func TestNewFile_Unusable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for name, c := range map[string]struct {
		path  string
		says  string
		cause error
	}{
		"empty":               {"", "invalid path: it is empty", nil},
		"no directory":        {filepath.Join(dir, "no", "out"), "create it first", fs.ErrNotExist},
		"is a directory":      {dir, "it is a directory", nil},
		"is a device":         {os.DevNull, "not a regular file", nil},
		"below a plain file":  {filepath.Join(plain, "out"), "cannot be opened (not a directory)", syscall.ENOTDIR},
		"with a NUL":          {"a\x00b", "cannot be opened", nil},
		"with too long names": {filepath.Join(dir, strings.Repeat("a", 300)), "cannot be opened", syscall.ENAMETOOLONG},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := NewFile(c.path)
			require.Nil(t, f)
			require.ErrorIs(t, err, eventbus.ErrInvalidArgument)
			var argument *eventbus.ArgumentError
			require.ErrorAs(t, err, &argument)
			require.Equal(t, "path", argument.Field)
			require.ErrorContains(t, err, c.says)
			if c.cause != nil {
				require.ErrorIs(t, err, c.cause)
			}
		})
	}
}
