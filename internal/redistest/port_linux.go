package redistest

import (
	"fmt"
	"io"
	"net"
)

// lockPort takes the lock of a port, or fails when another process or test has
// it. The lock is a name in the abstract socket namespace: it is unique in the
// network namespace, as the port is, leaves no file, and ends with its process.
func lockPort(port int) (io.Closer, error) {
	lock, err := net.Listen("unix", fmt.Sprintf("@%s-%d", claimsName, port))
	if err != nil {
		return nil, fmt.Errorf("claim port %d: %w", port, err)
	}
	return lock, nil
}
