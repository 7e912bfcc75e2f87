#!/bin/sh
# Fetches the llc and opt of newer LLVMs from Debian's sid and experimental into a folder of their
# own, with the C library that they need: nothing is installed. For `make sentinel`:
#   tools/dev/newer_llvms.sh build/llvm 23 24 && PATH=build/llvm/bin:$PATH make sentinel
set -eu
[ $# -ge 2 ] || { echo "usage: $0 FOLDER VERSION.." >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
mkdir -p "$folder/apt/state/lists/partial" "$folder/apt/cache/archives/partial" "$folder/apt/none" \
    "$folder/bin" "$folder/root"
: > "$folder/apt/status"
for suite in sid experimental; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
done > "$folder/apt/sources.list"
cat > "$folder/apt/apt.conf" <<CONFIG
Dir::State "$folder/apt/state";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "$folder/apt/none";
Dir::Etc::preferencesparts "$folder/apt/none";
CONFIG
export APT_CONFIG="$folder/apt/apt.conf"
apt-get update -qq
for version in "$@"; do
    # The release is in sid, what comes next in experimental.
    apt-get install -qq -y -d --no-install-recommends "llvm-$version" > /dev/null ||
        apt-get install -qq -y -d --no-install-recommends -t experimental "llvm-$version" > /dev/null
done
for package in "$folder"/apt/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
done
libraries="$folder/root/usr/lib/x86_64-linux-gnu"
for version in "$@"; do
    for tool in llc opt; do
        cat > "$folder/bin/$tool-$version" <<TOOL
#!/bin/sh
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries:$folder/root/usr/lib/llvm-$version/lib" \\
    "$folder/root/usr/lib/llvm-$version/bin/$tool" "\$@"
TOOL
        chmod +x "$folder/bin/$tool-$version"
    done
    "$folder/bin/llc-$version" --version | sed -n '/LLVM version/s/^ *//p'
done
