# Becomes a container without an engine: a root of its own on which nothing can be written, a process tree of its own,
# a user with no rights. Runs in fresh namespaces for mounts and processes. What is asked for stands in variables:
#   CELL    an empty folder, where the root is put together      FILES   what the image adds to its base
#   NODE    the program node                                     CGROUPS folders of limits; may be empty
#   VOLUMES lines "source target", read-only                     HOSTS   names of this machine besides
#   IDS     options of setpriv                                   NAME    of the machine; as outside where it is empty
# The arguments are those of env.
set -eu

for folder in $CGROUPS; do echo 0 >"$folder/cgroup.procs"; done
[ -z "$NAME" ] || echo "$NAME" >/proc/sys/kernel/hostname
mount -t tmpfs -o mode=755,size=1m cell "$CELL"
cd "$CELL"

show() {
  if [ -d "$1" ]; then mkdir -p ".$2"; else mkdir -p ".$(dirname "$2")" && touch ".$2"; fi
  mount --bind "$1" ".$2"
  mount -o remount,bind,ro ".$2"
}

# The base image: a system with the right Node.
mkdir -p usr tmp proc sys/fs/cgroup dev etc
mount --bind /usr usr
mount -t tmpfs -o mode=755,size=1m local usr/local
mkdir usr/local/bin
show "$NODE" /usr/local/bin/node
mount -o remount,ro usr/local
mount -o remount,bind,ro usr
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -P "/$name" .; elif [ -d "/$name" ]; then show "/$name" "/$name"; fi
done
for name in null zero full random urandom; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mount -t proc proc proc
mount --rbind /sys/fs/cgroup sys/fs/cgroup
printf 'root:x:0:0:root:/:/bin/sh\n' >etc/passwd
printf '127.0.0.1 localhost %s\n' "$HOSTS" >etc/hosts
printf 'hosts: files\n' >etc/nsswitch.conf
chmod 1777 tmp

for path in "$FILES"/*; do show "$path" "/$(basename "$path")"; done
if [ -n "$VOLUMES" ]; then
  while read -r source target; do show "$source" "$target"; done <<EOF
$VOLUMES
EOF
fi
mount -o remount,ro "$CELL"

# shellcheck disable=SC2086
exec chroot "$CELL" /usr/bin/setpriv $IDS --no-new-privs --inh-caps=-all --bounding-set=-all /usr/bin/env -i "$@"
