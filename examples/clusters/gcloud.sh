#!/bin/sh
# Machines of Google Cloud for a pool: gcloud.sh create NAME | delete NAME | list | log NAME.
# The image has tune's packages (and NVIDIA's driver); see docs/CLUSTERS.md for the variables.
set -eu
zone=${ZONE:-europe-west4-a}
type=${MACHINE_TYPE:-g2-standard-8}
image=${IMAGE_FAMILY:-tune-worker}

there() { # Prints the machine's name if there is one; fails where Google does not answer.
  gcloud compute instances list --zones="$zone" --filter="name=$1" --format='value(name)'
}

case $1 in
create)
  found=$(there "$2")
  [ -z "$found" ] || exit 0
  notice=''
  if [ "${TUNE_SPOT:-}" = 1 ]; then notice=' --notice gce'; fi
  script=$(mktemp)
  trap 'rm -f "$script"' EXIT
  # The token goes in a file, which only the machine and its project's owners read; not as an argument.
  cat >"$script" <<END
#!/bin/sh
export TUNE_JOIN='$TUNE_JOIN'
tune worker --connect '$TUNE_CONNECT' --name '$TUNE_WORKER_NAME' --cpus '$TUNE_CPUS' --gpus '$TUNE_GPUS'$notice
poweroff
END
  set -- "$2" --zone="$zone" --machine-type="$type" --image-family="$image" --maintenance-policy=TERMINATE
  if [ "${TUNE_SPOT:-}" = 1 ]; then
    set -- "$@" --provisioning-model=SPOT --instance-termination-action=DELETE
  fi
  gcloud compute instances create "$@" --metadata-from-file=startup-script="$script" --quiet
  ;;
delete)
  found=$(there "$2")
  [ -z "$found" ] || gcloud compute instances delete "$2" --zone="$zone" --quiet
  ;;
list)
  machines=$(gcloud compute instances list --zones="$zone" --filter="name ~ ^$TUNE_PREFIX" --format='value(name,status)')
  echo "$machines" | while read -r name status; do
    case $status in
    PROVISIONING | STAGING) echo "$name pending $status" ;;
    TERMINATED | STOPPED | SUSPENDED) echo "$name ended $status" ;;
    ?*) echo "$name running $status" ;;
    esac
  done
  ;;
log) gcloud compute instances get-serial-port-output "$2" --zone="$zone" | tail -n 20 ;;
*)
  echo "gcloud.sh: unknown word '$1'; known are create, delete, list and log" >&2
  exit 2
  ;;
esac
