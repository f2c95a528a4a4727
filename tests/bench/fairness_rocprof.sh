# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Attacks of fairness.sh by results of rocprof, which a user writes, and results of the honest user: sourced by it.
# Each attack, which burns nothing, says "ready" when it is at work, ends with its standard input, and says last how many files it wrote. The
# daemon has backend=rocprof; $1 is the tree, or a folder in which nothing reads them: what writing them costs by itself.
# They have a rate of their own.
rocprof_attacks=(results_views results_rows results_slow results_looks)
rpflood="env PYTHONDONTWRITEBYTECODE=1 python3 ${GT_SRC:-.}/tests/lib/rpflood.py"

results_folder() { # results_folder TREE - a folder of the hostile user's, of which results are read if TREE can
	local dir
	dir=$(mktemp -d "$work/results.XXXXXX")
	chown "$hostile:$hostile" "$dir"
	if as "$hostile" mkdir "$1/backends/rocprof/jobs/hurt" 2>/dev/null; then
		as "$hostile" sh -c "echo $dir >$1/backends/rocprof/jobs/hurt/output_directory"
	fi
	echo "$dir"
}
results_end() { # results_end TREE FOLDER FILES - waits for the end of standard input
	echo ready
	cat >/dev/null
	echo "$3"
	as "$hostile" rmdir "$1/backends/rocprof/jobs/hurt" 2>/dev/null
	rm -rf "$2"
}
results_kind() { # results_kind KIND N TREE - N databases of that kind
	local dir i
	dir=$(results_folder "$3")
	$rpflood "$1" "$work/$1.db" 2000
	for ((i = 0; i < $2; i++)); do
		cp "$work/$1.db" "$work/new.db"
		chown "$hostile" "$work/new.db"
		mv "$work/new.db" "$dir/${i}_results.db"
	done
	rm "$work/$1.db"
	results_end "$3" "$dir" "$2"
}
results_views() { results_kind recursive 64 "$1"; }
results_slow() { results_kind slow 64 "$1"; }
results_csv() { # results_csv KERNEL N - CSV of N dispatches, a microsecond apart
	awk -v kernel="$1" -v n="$2" -v now="$(awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime)" 'BEGIN {
		print "Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp"
		for (i = 0; i < n; i++)
			printf "KERNEL_DISPATCH,Agent 4,1,%s,%.0f,%.0f\n", kernel, now - 9e9 + i * 1e3, now - 9e9 + i * 1e3 + 500
	}'
}
results_rows() { # more rows than are taken in the time that this lasts
	local dir
	dir=$(results_folder "$1")
	results_csv k 4000000 >"$work/rows.csv"
	chown "$hostile" "$work/rows.csv"
	mv "$work/rows.csv" "$dir/1_kernel_trace.csv"
	results_end "$1" "$dir" 1
}
# A setting of a job is written again and again, which has the folders of eight jobs looked through
results_looks() {
	local dir i jobs=$1/backends/rocprof/jobs
	dir=$(results_folder "$1")
	for i in {1..7}; do
		as "$hostile" sh -c "mkdir $jobs/hurt$i && echo $dir >$jobs/hurt$i/output_directory" 2>/dev/null
	done
	# shellcheck disable=SC2016
	as "$hostile" bash -c '
		for i in {1..512}; do echo >"$1/${i}_kernel_trace.csv"; done
		to=$2/hurt/att_target_cu n=0
		[ -e "$to" ] || to=$1/setting
		echo ready
		SECONDS=0
		while read -rt 0.0025 _ || [ $? -gt 128 ]; do echo 1 >"$to" && ((n++)); done
		echo $((n / (SECONDS + 1)))
		rmdir "$2"/hurt{,1,2,3,4,5,6,7} 2>/dev/null
		rm -rf "$1"/*' bash "$dir" "$jobs"
	rmdir "$dir"
}

results_begin() { # the honest user's job, with a folder
	mkdir "$work/honest"
	chown "$honest:$honest" "$work/honest"
	as "$honest" mkdir "$work/gt/backends/rocprof/jobs/honest"
	as "$honest" sh -c "echo '$work/honest' >'$work/gt/backends/rocprof/jobs/honest/output_directory'"
}
results_ms() { # until three dispatches that the honest user writes are in the statistics; at most 10 s
	local began at name=h$RANDOM$RANDOM
	results_csv "$name" 3 >"$work/honest.csv"
	chown "$honest" "$work/honest.csv"
	began=$(date +%s%3N) at=$(date +%s%3N)
	mv "$work/honest.csv" "$work/honest/${name}_kernel_trace.csv"
	until as "$honest" grep -qsx 'calls 3' "$work"/gt/*/kernels/"$name"/stats || [ $((at - began)) -gt 10000 ]; do
		sleep 0.02
		at=$(date +%s%3N)
	done
	echo $(($(date +%s%3N) - began))
}
