package credentials

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxToken is how many bytes a token has at most: what a header may have, with room for
// its others.
const MaxToken = 4 << 10

// CheckToken returns what is wrong with a token that is not empty: a header carries
// visible ASCII alone.
func CheckToken(token string) error {
	if len(token) > MaxToken {
		return fmt.Errorf("it has %d bytes; at most %d are right", len(token), MaxToken)
	}
	for i, r := range token {
		what := ""
		switch {
		case r == '\n' || r == '\r':
			what = "a line end"
		case r == ' ':
			what = "a space"
		case r == utf8.RuneError:
			what = "a byte that is no text"
		case unicode.IsControl(r):
			what = "a control character"
		case r >= 0x7f:
			what = "a character beyond ASCII"
		default:
			continue
		}
		return fmt.Errorf("it has %s at byte %d; visible ASCII alone is right, which a header can carry", what, i)
	}
	return nil
}

// Token returns the token in a text that setting has, such as a variable. A line end
// after it, as editors and secrets' stores leave it, is no part of it.
func Token(setting, text string) (string, error) {
	token, err := trimmed(text)
	if err != nil {
		return "", fmt.Errorf("%s is no token: %w", setting, err)
	}
	return token, nil
}

// TokenFile is Token for the text of a file.
func TokenFile(f File) (string, error) {
	text, err := f.read()
	if err != nil {
		return "", err
	}
	token, err := trimmed(string(text))
	if err != nil {
		return "", f.wrong("this is no token: %w", err)
	}
	return token, nil
}

func trimmed(text string) (string, error) {
	token := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if token == "" {
		return "", errors.New("it is empty")
	}
	return token, CheckToken(token)
}
