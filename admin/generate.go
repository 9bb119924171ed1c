package admin

// The committed code is what Debian 12's thrift-compiler, 0.17, writes; CI checks
// that it is current.
//go:generate thrift -strict --gen go:package_prefix=github.com/seed4933/eventbus/gen-go/,skip_remote -out ../gen-go ../thrift/eventbus.thrift
