// A Kubernetes of one machine, for tests: the real control plane's programs, and nodes that run a pod's command as a process, in one
// program, so that what they share is compiled and linked once.
//
// usage: kubernetes_parts etcd|apiserver|controller-manager|scheduler|node [OPTION...]
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes_parts etcd|apiserver|controller-manager|scheduler|node [OPTION...]")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	commands := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": manager.NewControllerManagerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	switch command, isKnown := commands[part]; {
	case isKnown:
		os.Exit(cli.Run(command()))
	case part == "etcd":
		etcdmain.Main(os.Args)
	case part == "node":
		os.Exit(runNode(os.Args[1:]))
	default:
		fmt.Fprintf(os.Stderr, "kubernetes_parts: read '%s', expected etcd, apiserver, controller-manager, scheduler or node\n", part)
		os.Exit(2)
	}
}
