#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Recordings that are compressed, or members of an archive, are the same tree as what they hold.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
data=$GT_SRC/tests/data/replay
results="python3 $GT_SRC/tests/lib/rocprof.py"
export TMPDIR=$PWD/tmp
mkdir "$TMPDIR"

pack() { # pack FILE: by programs that share nothing with libarchive
	python3 - "$1" <<'P'
import bz2, gzip, lzma, sys, zipfile
data = open(sys.argv[1], 'rb').read()
for suffix, mod in (('gz', gzip), ('bz2', bz2), ('xz', lzma)):
    open(f'{sys.argv[1]}.{suffix}', 'wb').write(mod.compress(data))
with zipfile.ZipFile(sys.argv[1] + '.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.write(sys.argv[1])
P
	! command -v zstd >/dev/null || zstd -qf "$1" -o "$1.zst"
}
shows() { # shows FILE: what is to be the same
	mount_gt "$mnt" -o replay="$1" || return 1
	cat "$mnt/events_by_type" "$mnt/report" "$mnt"/*/kernels/*/{stats,latency} "$mnt"/*/ring*/latency 2>/dev/null
	umount_gt "$mnt"
}
same() { # same FILE
	local p
	shows "$1" >want
	ok "$1 shows something" [ "$(wc -l <want)" -gt 3 ]
	pack "$1"
	for p in "$1".{gz,bz2,xz,zst,zip}; do
		[ -e "$p" ] || { skip_ok "$p" "zstd is not installed"; continue; }
		shows "$p" >got 2>err
		ok "$p is the same: $(cat err)" cmp want got
	done
}
cp "$data/sched_6.12_v7.dat" v7.dat
cp "$data/sched_6.12_v6.dat" v6.dat
cp "$data/jobs_7.3.txt" text
$results generate run 1
$results database r.db 300
cp run/4242_kernel_trace.csv k_kernel_trace.csv
cat >hip_77 <<'L'
:3:rocdevice.cpp            :2951: 10 us: [pid:77 tid: 0x9] Created SWq=0x1 to map on HWq=0x2000 with size 16384 with priority 1, cooperative: 0
:3:rocvirtual.cpp           :3596: 11 us: [pid:77 tid: 0x9] ShaderName : void f<double>(double*)
:3:rocvirtual.cpp           :35
written by the program
:3:hip_module.cpp           :826 : 12 us: [pid:77 tid: 0x9] hipLaunchKernel: Returned hipSuccess :
:3:rocvirtual.cpp           :3596: 13 us: [pid:77 tid: 0x9] ShaderName : void f<double>(double*)
L
for f in v7.dat v6.dat text k_kernel_trace.csv r.db hip_77; do
	same "$f"
done
for f in hip_77 hip_77.gz; do
	mount_gt "$mnt" -o replay=$f 2>/dev/null || exit 1
	ok "$f: it ends" wait_for 20 grep -qx ended "$mnt/backends/amdlog/state"
	is "$(sed -n 's/^file0_\(used\|damaged\|skipped\|damaged_first_line\) /\1 /p' "$mnt/backends/amdlog/stats" | tr '\n' ' ')" \
		"used 3 skipped 2 damaged 1 damaged_first_line 3 " "… and what became of its lines stays in stats"
	umount_gt "$mnt"
done
python3 - "$GT_SRC/tests/lib" <<'P'
import gzip, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import gputree
open('mqds', 'w').write(gputree.mqds([dict(pid=300, number=0, gpu=63420, type='compute', active=1, vmid=8, size=65536, rptr=0, wptr=5,
                                           mqd=0x1700000000, doorbell=0x1000, base=0x7f0000000000)]))
for f in 'hip_77', 'mqds':
    data = bytearray(gzip.compress(open(f, 'rb').read()))
    data[-6] ^= 1  # the check sum
    open(f + '_sum.gz', 'wb').write(data)
P
for f in "amdlog hip_77_sum.gz damaged 2 damaged_first_line 3 " "sysfs mqds_sum.gz damaged 1 "; do
	read -r backend file want <<<"$f"
	mount_gt "$mnt" -o replay="$file" 2>err || exit 1
	like "$(cat err)" "its check sum is wrong" "$file: a wrong check sum is named"
	wait_for 20 grep -qx ended "$mnt/backends/$backend/state"
	is "$(sed -n 's/^file0_\(damaged\|damaged_first_line\) /\1 /p' "$mnt/backends/$backend/stats" | xargs)" "${want% }" "… and stays counted"
	umount_gt "$mnt"
done

# several members: whatever is a recording, as of a folder
echo "about" >run/README.md
printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' >run/picture.png
python3 -c "
import tarfile, zipfile, glob
z, t = zipfile.ZipFile('run.zip', 'w', zipfile.ZIP_DEFLATED), tarfile.open('run.tar.gz', 'w:gz')
for f in sorted(glob.glob('run/*')):
    z.write(f), t.add(f)
z.close(), t.close()"
for a in run.zip run.tar.gz; do
	mount_gt "$mnt" -o replay=$a || exit 1
	ok "$a: as a folder" $results compare run -- "$mnt"
	like "$(cat "$mnt/backends/rocprof/files")" "$a/run/4242_kernel_trace.csv" "… each file by its name"
	is "$(awk 'NR > 1 { print $9 }' "$mnt/gpus" | sort | tr '\n' ' ')" "0000:05:00.0 0000:75:00.0 " "… its devices"
	umount_gt "$mnt"
done
chown 12345 run.zip
unpacked_flags() { # of the daemon's descriptors of what was unpacked: the last digit is the mode, 0 to read
	local fd
	for fd in /proc/"$(pgrep -of "mount.gputrace $mnt")"/fd/*; do
		[ "$(stat -Lc %u "$fd")" != 12345 ] || sed -n 's/^flags:.*\(.\)$/\1/p' "${fd/fd/fdinfo}"
	done | sort | uniq -c | awk '{ print ($1 > 0) " " $2 }'
}
mount_gt "$mnt" -o replay=run.zip || exit 1
is "$(awk '/kernel_trace/ { print $3 }' "$mnt/backends/rocprof/files")" 12345 "… the archive's owner's"
is "$(unpacked_flags)" "1 0" "… held to be read, not to be written"
umount_gt "$mnt"

# a folder of compressed files
mkdir packed packed/below
for f in run/*.csv; do
	case $f in
	*kernel_trace*) gzip -c "$f" >packed/${f#run/}.gz ;;
	*copy*) xz -c "$f" >packed/below/${f#run/}.xz ;;
	*hip*) bzip2 -c "$f" >packed/${f#run/}.bz2 ;;
	*counter*) python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED).write(sys.argv[1], "x.csv")' "$f" packed/${f#run/}.zip ;;
	*) cp "$f" packed ;;
	esac
done
chown 12345 packed/*kernel_trace*
mount_gt "$mnt" -o replay=packed 2>err || exit 1
is "$(cat err)" "" "a folder of compressed files is mounted without a warning"
ok "… and shows what the files do" $results compare run -- "$mnt"
is "$(sed 's/ .*//' "$mnt/backends/rocprof/files" | sort | uniq -c | awk '$2 != "state" { print $2, $1 }')" "read $(ls run/*.csv | wc -l)" "… each of them"
is "$(awk '/kernel_trace/ { print $3 }' "$mnt/backends/rocprof/files" | sort -u)" 12345 "… as its owner's"
is "$(value "$mnt/backends/rocprof/stats" files_compressed)" 0 "… none is left out"
umount_gt "$mnt"
cp packed/*hip*.bz2 packed/plain.bz2 && cp run/*hip* packed/ # side by side
python3 - <<'P'
import glob, gzip, zipfile
zero = bytes(1 << 20)
with gzip.open('packed/bomb.csv.gz', 'wb') as f:
    for i in range(260):
        f.write(zero)
with zipfile.ZipFile('packed/twice.csv.zip', 'w') as z:
    z.writestr('a.csv.gz', gzip.compress(b'a,b'))
open('packed/cut_kernel_trace.csv.gz', 'wb').write(open(glob.glob('packed/*kernel_trace.csv.gz')[0], 'rb').read()[:9])
open('packed/wrong_kernel_trace.csv.gz', 'wb').write(b'\x1f\x8b\x08garbage')
with zipfile.ZipFile('packed/two.csv.zip', 'w') as z:
    z.writestr('a.csv', 'a'), z.writestr('b.csv', 'b')
P
ln -s ../k_kernel_trace.csv.gz packed/link.csv.gz
mkfifo packed/fifo.csv.gz
mount_gt "$mnt" -o replay=packed 2>err || exit 1
said() { like "$(cat "$mnt/backends/rocprof/problems")" "$1" "$2"; }
said '^/.*bomb.csv.gz: unpacks to more than 256 MiB, 256 times its size' "a bomb among them is refused"
said '^/.*twice.csv.zip: is compressed twice' "what is compressed twice"
said '^/.*cut_kernel_trace.csv.gz: .*cut or damaged' "what is cut"
said '^/.*wrong_kernel_trace.csv.gz: .*cut or damaged' "what has only the first bytes"
said '^/.*two.csv.zip: is an archive' "an archive"
said 'hip.*.bz2: .*.csv is the same' "a file and what it was compressed to are read once"
ok "… and no link or FIFO" [ -z "$(grep -E '(link|fifo).csv.gz' "$mnt/backends/rocprof/files")" ]
umount_gt "$mnt"
rm -r packed && mkdir packed
for i in 1 2 3; do python3 -c 'import gzip, sys; f = gzip.open(sys.argv[1], "wb"); [f.write(bytes(1 << 20)) for i in range(100)]' packed/$i.csv.gz; done
"$GT_PROG" "$mnt" -o replay=packed 2>err
is $? 32 "a folder of bombs is not mounted"
like "$(cat err)" 'times its size, with those before it|is no result|has no header' "… and why"
! mountpoint -q "$mnt" || mounts+=("$mnt")
python3 - <<'P'
import zipfile
with zipfile.ZipFile('packed/0.csv.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('a.csv', bytes(100 << 20)), z.writestr('b.csv', bytes(100 << 20))
P
cp k_kernel_trace.csv packed
mount_gt "$mnt" -o replay=packed 2>/dev/null || exit 1
is "$(sed -n 's/.*\/\(.*\): .*with those before it.*/\1/p' "$mnt/backends/rocprof/problems")" 3.csv.gz "what is refused itself takes no room from others"
umount_gt "$mnt"

# what cannot be played says why
refused() { # refused FILE "what is said of it"
	"$GT_PROG" "$mnt" -o replay="$1" 2>err
	is $? 32 "$1 is not mounted"
	like "$(cat err)" "$2" "… and why"
	! mountpoint -q "$mnt" || mounts+=("$mnt")
}
python3 - <<'P'
import gzip, lzma, zipfile
zero = bytes(1 << 20)
with gzip.open('bomb.gz', 'wb') as f, lzma.open('bomb.xz', 'wb') as g:
    for i in range(260):
        f.write(zero), g.write(zero)
with zipfile.ZipFile('other.zip', 'w') as z:
    z.writestr('a.png', b'\x89PNG\0'), z.writestr('b.png', b'\x89PNG\0')
zipfile.ZipFile('empty.zip', 'w').close()
with zipfile.ZipFile('many.zip', 'w') as z:
    for i in range(1025):
        z.writestr(f'{i}.txt', 'x')
data = bytearray(open('k_kernel_trace.csv.gz', 'rb').read())
data[-6] ^= 1  # the check sum
open('sum.csv.gz', 'wb').write(data)
open('cut.csv.gz', 'wb').write(data[:-2000])
open('head.csv.gz', 'wb').write(data[:12])
xz = bytearray(open('k_kernel_trace.csv.xz', 'rb').read())
xz[len(xz) // 2] ^= 0x55
open('flipped.csv.xz', 'wb').write(xz)
a = open('k_kernel_trace.csv', 'rb').read()
open('two_kernel_trace.csv.gz', 'wb').write(gzip.compress(a[:1000]) + gzip.compress(a[1000:]))
open('wide_kernel_trace.csv', 'wb').write(a.decode().encode('utf-16'))
P
python3 - <<'P'
import gzip, io, tarfile, warnings, zipfile
warnings.simplefilter('ignore')
csv = open('k_kernel_trace.csv', 'rb').read()
def tar(name, files, cut=None):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as t:
        for n, data in files:
            i = tarfile.TarInfo(n)
            i.size = len(data)
            t.addfile(i, io.BytesIO(data))
    open(name, 'wb').write(gzip.compress(out.getvalue()[:cut]))
about = bytes(300000)
tar('short.tar.gz', [('run/a_kernel_trace.csv', csv), ('run/README.md', about), ('run/z_kernel_trace.csv', csv)], len(csv) + 100000)
tar('none.tar.gz', [('run/LICENSE', b'yours'), ('run/README.md', about), ('run/z_kernel_trace.csv', csv)], 100000)
tar('twice.tar.gz', [('k_kernel_trace.csv', csv[:1000]), ('k_kernel_trace.csv', csv)])
with zipfile.ZipFile('hurt.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('b_kernel_trace.csv', csv)
    z.writestr('good_kernel_trace.csv', csv)
data = bytearray(open('hurt.zip', 'rb').read())
at = 30 + len('b_kernel_trace.csv')
data[at:at + 4] = b'\xff\xff\xff\xff'
open('hurt.zip', 'wb').write(data)
with zipfile.ZipFile('nested.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('a_kernel_trace.csv', csv)
    z.writestr('b_kernel_trace.csv.gz', gzip.compress(csv))
    z.writestr('c.txt', 'a note')
with zipfile.ZipFile('wide.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('a_kernel_trace.csv', csv.decode().encode('utf-16'))
    z.writestr('b_kernel_trace.csv', csv)
with zipfile.ZipFile('mix.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('k_kernel_trace.csv', csv)
    z.writestr('empty_kernel_trace.csv', '')
    z.writestr('x_results.db', b'SQLite no longer')
    z.writestr('readme.md', 'about')
P
mkdir mix && (cd mix && python3 -m zipfile -e ../mix.zip .)
for a in mix mix.zip; do
	mount_gt "$mnt" -o replay=$a 2>err || exit 1
	is "$(sed -n 's/^\(files\|files_refused\|files_left_out\) /\1 /p' "$mnt/backends/rocprof/stats" | xargs)" "files 3 files_refused 2 files_left_out 0" "$a: what has a result's name counts"
	like "$(cat "$mnt/backends/rocprof/problems")" "/empty_kernel_trace.csv: is empty" "… with the reason"
	like "$(cat "$mnt/backends/rocprof/problems")" "/x_results.db: is no result of rocprof" "… of each"
	like "$(cat err)" "$a/.*: is (empty|no result of rocprof)" "… and the mount warns"
	umount_gt "$mnt"
done
refused none.tar.gz 'none of its 2 files is a recording; the first is run/LICENSE; run/README.md is cut or damaged: '
lacks() { # lacks FILE "what is said of it"
	mount_gt "$mnt" -o replay="$1" 2>err || exit 1
	like "$(cat err)" "$2" "$1: what is left out is reported"
	like "$(cat "$mnt/backends/rocprof/files")" "^read +kernel_trace +[0-9]+ +[1-9]" "… and the rest is shown"
	umount_gt "$mnt"
}
lacks short.tar.gz 'a_kernel_trace.csv: is not all of the archive: 1 of its 2 files are left out, and run/README.md is cut or damaged: '
lacks hurt.zip 'good_kernel_trace.csv: is not all of the archive: 1 of its 2 files are left out, and b_kernel_trace.csv is cut or damaged: '
lacks nested.zip 'a_kernel_trace.csv: is not all of the archive: 2 of its 3 files are left out, and b_kernel_trace.csv.gz is compressed itself'
lacks wide.zip 'b_kernel_trace.csv: is not all of the archive: 1 of its 2 files are left out, and a_kernel_trace.csv is text in UTF-16'
shows k_kernel_trace.csv >want
shows twice.tar.gz >got 2>err
ok "of two files with one name the last is played, as unpacked" cmp want got
is "$(cat err)" "" "… without a warning"
refused bomb.gz 'bomb.gz: unpacks to more than 256 MiB, 256 times its size'
refused bomb.xz 'bomb.xz: unpacks to more than 256 MiB'
refused other.zip 'none of its 2 files is a recording; the first is a.png'
refused empty.zip 'holds no file'
refused many.zip 'has more than 1024 files'
refused head.csv.gz 'cut or damaged'
for f in gz:gzip xz:xz zst:zstd; do
	: | ${f#*:} >nothing.${f%:*}
	refused nothing.${f%:*} 'is whole, but what it holds is empty'
done
printf '\x1f\x8b\x08garbage' >wrong.csv.gz
refused wrong.csv.gz 'wrong.csv.gz: .*cut or damaged'
refused wide_kernel_trace.csv 'is text in UTF-16: make it UTF-8 with iconv'
is "$(ls "$TMPDIR" | wc -l)" 0 "nothing is left in TMPDIR"
for f in sum cut flipped; do
	f=$(echo $f.csv.*)
	mount_gt "$mnt" -o replay="$f" 2>/dev/null || exit 1
	like "$(cat "$mnt/backends/rocprof/problems")" "$f: is cut or damaged: " "$f says so"
	like "$(cat "$mnt/backends/rocprof/files")" "^read +kernel_trace +[0-9]+ +[1-9]" "… and shows what can be read"
	umount_gt "$mnt"
done
shows k_kernel_trace.csv >want
gzip -c k_kernel_trace.csv.gz >twice_kernel_trace.csv.gz
xz -c k_kernel_trace.csv.gz >gz_kernel_trace.csv.xz
for f in twice_kernel_trace.csv.gz gz_kernel_trace.csv.xz; do
	shows $f >got 2>err
	ok "$f, compressed twice, is the same" cmp want got
	is "$(cat err)" "" "… and is not called damaged"
done
tar -cf plain.tar k_kernel_trace.csv
shows plain.tar >got 2>err
ok "a tar archive that is not compressed is one as well: $(cat err)" cmp want got
shows two_kernel_trace.csv.gz >got
ok "files of gzip that were put together are one" cmp want got

# frames of zstd that hold nothing, which pzstd writes: a raw one is enough to see that they are passed
python3 - <<'P'
import struct
data = open('k_kernel_trace.csv', 'rb').read()
def frame(part):
    blocks = [part[i:i + 100000] for i in range(0, len(part), 100000)]
    return b'\x28\xb5\x2f\xfd\xa0' + struct.pack('<I', len(part)) + b''.join(
        struct.pack('<I', (i == len(blocks) - 1) | len(b) << 3)[:3] + b for i, b in enumerate(blocks))
def skip(n, kind=0):
    return struct.pack('<II', 0x184d2a50 + kind, n) + b'x' * n
half = len(data) // 2
open('p_kernel_trace.csv.zst', 'wb').write(skip(4) + skip(100000, 15) + frame(data[:half]) + skip(4) + frame(data[half:]) + skip(0))
open('only.csv.zst', 'wb').write(skip(4) + skip(0))
open('far.csv.zst', 'wb').write(struct.pack('<II', 0x184d2a50, 0xffffffff) + frame(data))
P
shows p_kernel_trace.csv.zst >got 2>err
ok "zstd with frames to skip is the same: $(cat err)" cmp want got
if command -v pzstd >/dev/null; then
	pzstd -qf -p 2 k_kernel_trace.csv -o pz_kernel_trace.csv.zst
	shows pz_kernel_trace.csv.zst >got 2>err
	ok "so is what pzstd wrote: $(cat err)" cmp want got
else
	skip_ok "what pzstd wrote" "pzstd is not installed"
fi
refused only.csv.zst 'cut or damaged'
refused far.csv.zst 'cut or damaged'

# a colon in a name
cp text 'a:b.txt'
cp k_kernel_trace.csv 'c:d_kernel_trace.csv'
shows 'a\:b.txt:c\:d_kernel_trace.csv' >got
mount_gt "$mnt" -o 'replay=a\:b.txt:c\:d_kernel_trace.csv' || exit 1
like "$(cat "$mnt/backends/rocprof/files")" '/c:d_kernel_trace.csv' "a colon in a name is written \\:"
ok "… of every kind" [ "$(value "$mnt/backends/replay/stats" records)" -gt 0 ]
umount_gt "$mnt"

# a backslash before the colon between two, and before one in a name
cp text 'e\'
cp hip_77 'f\:g\'
cp k_kernel_trace.csv '\h:_kernel_trace.csv'
mount_gt "$mnt" -o 'replay=e\\:f\\\:g\\:\h\:_kernel_trace.csv' || exit 1
is "$(value "$mnt/backends/replay/stats" file0)" "$PWD/e\134" "a backslash at a name's end is written \\\\: text"
is "$(value "$mnt/backends/amdlog/stats" file0)" "$PWD/f\134:g\134" "… and before a colon: a log"
like "$(cat "$mnt/backends/rocprof/files")" '/\\134h:_kernel_trace.csv$' "… and is itself elsewhere: results"
umount_gt "$mnt"

# an ordinary user
if [ -c /dev/fuse ] && as_user test -w /dev/fuse; then
	mkdir mine && chown 65534 mine && chmod 755 . && chmod 1777 "$TMPDIR"
	as_user env TMPDIR="$TMPDIR" "$GT_PROG" "$PWD/mine" -o replay="$PWD/k_kernel_trace.csv.gz" && mounts+=("$PWD/mine")
	like "$(as_user cat mine/backends/rocprof/files)" '^read +kernel_trace' "an ordinary user's mount unpacks as well"
	umount_gt "$PWD/mine"
else
	skip_ok "an ordinary user's mount" "/dev/fuse is not for users here"
fi
done_testing
