package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Runs the first container of a pod as a process of this machine, in a mount namespace of its own in which its secrets, configuration
// maps, claims and its account lie where the pod wants them. An image whose name begins with "missing/" cannot be pulled.
type processes struct {
	folder  string
	path    string // PATH of what runs.
	server  string // HOST:PORT of the API server.
	client  kubernetes.Interface
	secrets corev1listers.SecretLister
	configs corev1listers.ConfigMapLister
	notify  func(*corev1.Pod)

	mutex sync.Mutex
	pods  map[string]*runningPod
}

type runningPod struct {
	pod  *corev1.Pod
	log  string
	pid  int
	done chan struct{}
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func (p *processes) CreatePod(ctx context.Context, pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	container := pod.Spec.Containers[0]
	running := &runningPod{pod: pod, log: filepath.Join(p.folder, string(pod.UID)+".log"), done: make(chan struct{})}
	now := metav1.Now()
	pod.Status.StartTime = &now
	pod.Status.HostIP, pod.Status.PodIP = "127.0.0.1", "127.0.0.1"
	p.mutex.Lock()
	p.pods[keyOf(pod.Namespace, pod.Name)] = running
	p.mutex.Unlock()
	if strings.HasPrefix(container.Image, "missing/") {
		p.setState(running, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: "Back-off pulling image \"" + container.Image + "\""}})
		return nil
	}
	script, err := p.mountScript(ctx, pod, container)
	if err != nil {
		return err
	}
	log, err := os.Create(running.log)
	if err != nil {
		return err
	}
	defer log.Close()
	words := append([]string{"-c", script + "exec \"$@\"", "sh"}, append(append([]string{}, container.Command...), container.Args...)...)
	command := exec.Command("sh", words...)
	command.Stdout, command.Stderr = log, log
	command.Dir = p.folder
	host, port, _ := net.SplitHostPort(p.server)
	command.Env = []string{"PATH=" + p.path, "HOME=" + filepath.Join(p.folder, string(pod.UID))}
	for _, one := range container.Env {
		// Those of services are addresses of a network that is not there.
		if !strings.HasPrefix(one.Name, "KUBERNETES_") && !strings.Contains(one.Name, "_SERVICE_") && !strings.Contains(one.Name, "_PORT") {
			command.Env = append(command.Env, one.Name+"="+one.Value)
		}
	}
	command.Env = append(command.Env, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNS}
	if err := command.Start(); err != nil {
		return err
	}
	running.pid = command.Process.Pid
	p.setState(running, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}})
	go func() {
		_ = command.Wait()
		_ = syscall.Kill(-running.pid, syscall.SIGKILL) // What it left.
		status := command.ProcessState.ExitCode()
		phase := corev1.PodSucceeded
		if status != 0 {
			phase = corev1.PodFailed
		}
		if status < 0 {
			status = 137
		}
		p.setState(running, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: int32(status), Reason: map[bool]string{true: "Completed", false: "Error"}[status == 0],
			StartedAt: now, FinishedAt: metav1.Now()}})
		close(running.done)
	}()
	return nil
}

// What lies in the pod's volumes, where its container wants it.
func (p *processes) mountScript(ctx context.Context, pod *corev1.Pod, container corev1.Container) (string, error) {
	script := "mount --make-rprivate / && "
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name != mount.Name {
				continue
			}
			folder, err := p.fill(ctx, pod, volume)
			if err != nil {
				return "", err
			}
			script += fmt.Sprintf("mkdir -p '%s' && mount --bind '%s' '%s' && ", mount.MountPath, folder, mount.MountPath)
		}
	}
	return script, nil
}

// A folder with what the volume holds. A claim's is the same for every pod.
func (p *processes) fill(ctx context.Context, pod *corev1.Pod, volume corev1.Volume) (string, error) {
	folder := filepath.Join(p.folder, string(pod.UID), volume.Name)
	if volume.PersistentVolumeClaim != nil {
		folder = filepath.Join(p.folder, "claims", volume.PersistentVolumeClaim.ClaimName)
	}
	if err := os.MkdirAll(folder, 0700); err != nil {
		return "", err
	}
	files := map[string][]byte{}
	addConfig := func(name string) error {
		config, err := p.configs.ConfigMaps(pod.Namespace).Get(name)
		if err != nil {
			return err
		}
		for file, text := range config.Data {
			files[file] = []byte(text)
		}
		return nil
	}
	if volume.Secret != nil {
		secret, err := p.secrets.Secrets(pod.Namespace).Get(volume.Secret.SecretName)
		if err != nil {
			return "", err
		}
		files = secret.Data
	}
	if volume.ConfigMap != nil {
		if err := addConfig(volume.ConfigMap.Name); err != nil {
			return "", err
		}
	}
	if volume.Projected != nil { // The pod's account, as the API server adds it.
		files["namespace"] = []byte(pod.Namespace)
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				if err := addConfig(source.ConfigMap.Name); err != nil {
					return "", err
				}
			}
			if source.ServiceAccountToken == nil {
				continue
			}
			token, err := p.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(
				ctx, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			if err != nil {
				return "", err
			}
			files[source.ServiceAccountToken.Path] = []byte(token.Status.Token)
		}
	}
	for name, bytes := range files {
		if err := os.WriteFile(filepath.Join(folder, name), bytes, 0600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

func (p *processes) setState(running *runningPod, phase corev1.PodPhase, state corev1.ContainerState) {
	p.mutex.Lock()
	pod := running.pod
	pod.Status.Phase = phase
	ready := corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, State: state, Ready: phase == corev1.PodRunning}}
	told := pod.DeepCopy()
	p.mutex.Unlock()
	if p.notify != nil {
		p.notify(told)
	}
}

func (p *processes) UpdatePod(context.Context, *corev1.Pod) error { return nil }

func (p *processes) find(namespace, name string) (*runningPod, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	running, isThere := p.pods[keyOf(namespace, name)]
	if !isThere {
		return nil, errdefs.NotFound("there is no such pod here")
	}
	return running, nil
}

// SIGTERM, and after the grace SIGKILL. Does not wait.
func (p *processes) DeletePod(_ context.Context, pod *corev1.Pod) error {
	running, err := p.find(pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	grace := 30 * time.Second
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	go func() {
		if running.pid != 0 {
			_ = syscall.Kill(running.pid, syscall.SIGTERM)
			select {
			case <-running.done:
			case <-time.After(grace):
				_ = syscall.Kill(-running.pid, syscall.SIGKILL)
				<-running.done
			}
		} else {
			p.setState(running, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}})
		}
		p.mutex.Lock()
		delete(p.pods, keyOf(pod.Namespace, pod.Name))
		p.mutex.Unlock()
	}()
	return nil
}

func (p *processes) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	running, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return running.pod.DeepCopy(), nil
}

func (p *processes) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	pod, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &pod.Status, nil
}

func (p *processes) GetPods(context.Context) ([]*corev1.Pod, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var pods []*corev1.Pod
	for _, running := range p.pods {
		pods = append(pods, running.pod.DeepCopy())
	}
	return pods, nil
}

func (p *processes) NotifyPods(_ context.Context, notify func(*corev1.Pod)) { p.notify = notify }

func (p *processes) GetContainerLogs(_ context.Context, namespace, name, _ string, opts api.ContainerLogOpts) (io.ReadCloser, error) {
	running, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(running.log)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	if opts.Tail > 0 && len(lines) > opts.Tail {
		lines = lines[len(lines)-opts.Tail:]
	}
	return io.NopCloser(strings.NewReader(strings.Join(lines, ""))), nil
}

var errNotHere = errdefs.InvalidInput("a node of tests does not do that")

func (p *processes) RunInContainer(context.Context, string, string, string, []string, api.AttachIO) error {
	return errNotHere
}
func (p *processes) AttachToContainer(context.Context, string, string, string, api.AttachIO) error {
	return errNotHere
}
func (p *processes) GetStatsSummary(context.Context) (*statsv1alpha1.Summary, error) {
	return nil, errNotHere
}
func (p *processes) GetMetricsResource(context.Context) ([]*dto.MetricFamily, error) {
	return nil, errNotHere
}
func (p *processes) PortForward(context.Context, string, string, int32, io.ReadWriteCloser) error {
	return errNotHere
}

// The API server asks a node for logs over TLS, and does not look at whose certificate it is.
func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func runNode(arguments []string) int {
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	name := flags.String("name", "node", "")
	kubeconfig := flags.String("kubeconfig", "", "")
	folder := flags.String("folder", "", "of logs and secrets")
	path := flags.String("path", os.Getenv("PATH"), "PATH of what runs")
	listen := flags.String("listen", "", "HOST:PORT for logs")
	port := flags.Int("port", 0, "the same port")
	server := flags.String("server", "", "HOST:PORT of the API server")
	cpus := flags.String("cpus", "4", "")
	gpus := flags.String("gpus", "0", "nvidia.com/gpu")
	_ = flags.Parse(arguments)
	certificate, err := ownCertificate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client, err := nodeutil.ClientsetFromEnv(*kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mux := http.NewServeMux()
	provide := func(config nodeutil.ProviderConfig) (nodeutil.Provider, node.NodeProvider, error) {
		own := &processes{folder: *folder, path: *path, server: *server, client: client, secrets: config.Secrets, configs: config.ConfigMaps,
			pods: map[string]*runningPod{}}
		capacity := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(*cpus), corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse(*gpus)}
		status := &config.Node.Status
		status.Capacity, status.Allocatable = capacity, capacity
		status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		status.DaemonEndpoints.KubeletEndpoint.Port = int32(*port)
		status.NodeInfo.Architecture, status.NodeInfo.OperatingSystem = "amd64", "linux"
		return own, nil, nil
	}
	configure := func(config *nodeutil.NodeConfig) error {
		config.KubeconfigPath = *kubeconfig
		config.Client = client
		config.HTTPListenAddr = *listen
		config.Handler = mux
		config.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
		return nil
	}
	one, err := nodeutil.NewNode(*name, provide, configure, nodeutil.AttachProviderRoutes(mux))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := one.Run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
