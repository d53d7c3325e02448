// The test bed's cluster DNS: CoreDNS with the few plugins that the bed's Corefile uses.
// (The full program carries some fifty more, and takes several times as long to build.)
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// The order in which a question passes the plugins, whatever their order in the Corefile.
	dnsserver.Directives = []string{"bind", "ready", "errors", "hosts", "kubernetes", "template"}
	coremain.Run()
}
