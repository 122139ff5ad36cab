#!/bin/sh
# Refuses the start of a server that would run without a device that it had before: libvirt calls
# this with the server's definition before QEMU starts. Not in use until an operator copies it to
# /etc/libvirt/hooks/qemu.d. It reads the agent's list and writes nothing.
# https://libvirt.org/hooks.html
#
# Each doubt lets the server start: no agent runs, no list, two seconds have passed.

state=${CYBORG_AGENT_STATE_DIR:-/var/lib/cyborg-agent}
list=$state/servers.list
refused=3

[ "$2 $3" = 'prepare begin' ] || exit 0
if [ "$CYBORG_HOOK" != inner ]; then
	CYBORG_HOOK=inner timeout 2 "$0" "$@"
	[ $? -eq $refused ] || exit 0
	exit 1
fi

[ -r "$list" ] && [ -e "$state/agent.lock" ] || exit 0
# An agent that runs holds the lock. Without it the list may be old.
flock -n "$state/agent.lock" true && exit 0

definition=$(cat)
case $definition in
*'<nova:instance '*) ;;
*) exit 0 ;;
esac
server=$(printf '%s\n' "$definition" | sed -n 's:^  <uuid>\([0-9a-f-]*\)</uuid>$:\1:p' | head -n 1)
[ "$server" ] || exit 0
# Addresses of the host, without those of the guest.
sources=$(printf '%s\n' "$definition" | sed -n '/<source>/,/<\/source>/{/<address /p;}')
has=$(printf '%s\n' "$sources" | grep -c '<address ')

lacks=
count=0
common=0
while read -r uuid unit; do
	[ "$uuid" = "$server" ] || continue
	case $unit in
	*.*)
		bus=${unit%:*}
		slot=${unit##*:}
		text="domain='0x${bus%:*}' bus='0x${bus##*:}' slot='0x${slot%.*}' function='0x${slot#*.}'"
		;;
	*) text="uuid='$unit'" ;;
	esac
	case $sources in
	*"$text"*) common=$((common + 1)) ;;
	*)
		lacks="$lacks $unit"
		count=$((count + 1))
		;;
	esac
done <"$list"

# A server that was unshelved has others in their place.
[ $count -gt $((has - common)) ] || exit 0
echo "cyborg-agent: server $server would start without$lacks" >&2
echo "Reboot it hard in Nova: openstack server reboot --hard $server" >&2
exit $refused
