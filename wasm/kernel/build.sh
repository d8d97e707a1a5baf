#!/usr/bin/env bash
# Rebuilds the committed modules. Needs clang and wasm-ld; the bytes are those of version 14 of both (Debian 12).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=${1:-.}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(--target=wasm32 -O3 -msimd128 -mbulk-memory -ffreestanding -nostdlib -Wall -Wextra -Werror -c)
link=(--no-entry --strip-all -z stack-size=4096)

clang "${flags[@]}" -o "$scratch/chunk.o" chunk.c
wasm-ld "${link[@]}" --export=__heap_base -o "$target/chunk.wasm" "$scratch/chunk.o"
clang "${flags[@]}" -o "$scratch/lines.o" lines.c
wasm-ld "${link[@]}" --export=__heap_base -o "$target/lines.wasm" "$scratch/lines.o"
# Shared memory may be imported only by a module that was built for it; this one touches none on its own account.
clang "${flags[@]}" -matomics -o "$scratch/ring.o" ring.c
wasm-ld "${link[@]}" --import-memory --shared-memory --max-memory=4294967296 -o "$target/ring.wasm" "$scratch/ring.o"
