package redistest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main(m, map[string]func(){
		"exit":   func() {},
		"fail":   func() { os.Exit(7) },
		"panic":  func() { panic("on purpose") },
		"echo":   echo,
		"flood":  flood,
		"server": serverChild,
	})
}

// echo writes its environment's ECHO and an unfinished line, then waits for
// ever.
func echo() {
	fmt.Println(os.Getenv("ECHO"))
	fmt.Print("unfinished")
	fmt.Fprintln(os.Stderr, "to stderr")
	<-time.After(time.Hour)
}

const floodLines = 20000

// flood writes far more than a pipe holds.
func flood() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := range floodLines {
		fmt.Fprintf(out, "%d %s\n", i, strings.Repeat("x", 50))
	}
}

// serverChild starts a server in the directory DIR, prints its address, and
// waits to be killed.
func serverChild() {
	s, err := open(os.Getenv("DIR"), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	<-time.After(time.Hour)
}
