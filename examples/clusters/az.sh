#!/bin/sh
# Machines of Azure for a pool: az.sh create NAME | delete NAME | list. The image has tune's packages (and
# NVIDIA's driver); see docs/CLUSTERS.md for the variables.
set -eu
group=${RESOURCE_GROUP:-tune}
type=${MACHINE_TYPE:-Standard_NC8as_T4_v3}
image=${IMAGE:-tune-worker}

there() { # Prints the machine's name if there is one; fails where Azure does not answer.
  az vm list --resource-group "$group" --query "[?name=='$1'].name" --output tsv
}

case $1 in
create)
  found=$(there "$2")
  [ -z "$found" ] || exit 0
  notice=''
  if [ "${TUNE_SPOT:-}" = 1 ]; then
    events='http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01'
    notice=" --notice \"command:curl -sf -H Metadata:true '$events' | grep -q Preempt\""
  fi
  script=$(mktemp)
  trap 'rm -f "$script"' EXIT
  # The token goes in a file, which only the machine and its group's owners read; not as an argument.
  cat >"$script" <<END
#!/bin/sh
export TUNE_JOIN='$TUNE_JOIN'
tune worker --connect '$TUNE_CONNECT' --name '$TUNE_WORKER_NAME' --cpus '$TUNE_CPUS' --gpus '$TUNE_GPUS'$notice
poweroff
END
  set -- --name "$2" --resource-group "$group" --size "$type" --image "$image"
  if [ "${TUNE_SPOT:-}" = 1 ]; then set -- "$@" --priority Spot --eviction-policy Delete --max-price -1; fi
  # Disk and network card go with the machine.
  az vm create "$@" --custom-data "$script" --public-ip-address '' --os-disk-delete-option Delete \
    --nic-delete-option Delete --no-wait --output none
  ;;
delete)
  found=$(there "$2")
  [ -z "$found" ] || az vm delete --resource-group "$group" --name "$2" --yes --output none
  ;;
list)
  machines=$(az vm list --resource-group "$group" --show-details --output tsv \
    --query "[?starts_with(name, '$TUNE_PREFIX')].[name, provisioningState, powerState]")
  echo "$machines" | while read -r name provisioning power; do
    case "$provisioning $power" in
    Creating*) echo "$name pending $provisioning" ;;
    Failed* | *deallocated* | *stopped*) echo "$name ended $provisioning $power" ;;
    ?*\ *) echo "$name running $power" ;;
    esac
  done
  ;;
*)
  echo "az.sh: unknown word '$1'; known are create, delete and list" >&2
  exit 2
  ;;
esac
