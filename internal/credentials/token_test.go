package credentials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed4933/eventbus/internal/credentials"
)

// A token is the same from a file and from elsewhere, and what is wrong with it is
// told without it.
func TestToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	both := func(text string) (string, []string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		token, err := credentials.Token("THE_TOKEN", text)
		same, fileErr := credentials.TokenFile(credentials.File{Setting: "--token-file", Path: path})
		require.Equal(t, token, same)
		if err == nil {
			require.NoError(t, fileErr)
			return token, nil
		}
		require.Error(t, fileErr)
		return "", []string{err.Error(), fileErr.Error()}
	}
	for _, text := range []string{"s3cret", "s3cret\n", "s3cret\r\n"} {
		token, wrong := both(text)
		require.Empty(t, wrong)
		require.Equal(t, "s3cret", token)
	}
	const right = "; visible ASCII alone is right, which a header can carry"
	for text, says := range map[string]string{
		"": "it is empty", "\n": "it is empty", "\r\n": "it is empty",
		"s3cret\n\n":                   "it has a line end at byte 6" + right,
		"s3cret ":                      "it has a space at byte 6" + right,
		" s3cret":                      "it has a space at byte 0" + right,
		"s3\ncret":                     "it has a line end at byte 2" + right,
		"s3\tcret":                     "it has a control character at byte 2" + right,
		"s3\x7fcret":                   "it has a control character at byte 2" + right,
		"s3\u00e9":                     "it has a character beyond ASCII at byte 2" + right,
		"s3cret\xff":                   "it has a byte that is no text at byte 6" + right,
		"\ufeffs3cre":                  "it has a character beyond ASCII at byte 0" + right,
		strings.Repeat("s3cret", 2000): "it has 12000 bytes; at most 4096 are right",
	} {
		_, wrong := both(text)
		require.Equal(t, []string{"THE_TOKEN is no token: " + says, "read --token-file: " + path + ": this is no token: " + says}, wrong)
	}
	_, err := credentials.TokenFile(credentials.File{Setting: "--token-file", Path: path + "s"})
	require.EqualError(t, err, "read --token-file: open "+path+"s: no such file or directory")
}
