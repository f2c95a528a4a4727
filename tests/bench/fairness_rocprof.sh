# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Attacks of fairness.sh by results of rocprof, which a user writes: sourced by it. Each says "ready" when it is at
# work, ends with its standard input, and says last how many files it wrote. The daemon has backend=rocprof; $1 is the
# tree, or a folder in which nothing reads them: what writing them costs by itself.
rocprof_attacks=(results_views results_rows results_slow)
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
results_rows() { # more rows than are taken in the time that this lasts
	local dir
	dir=$(results_folder "$1")
	awk -v now="$(awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime)" 'BEGIN {
		print "Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp"
		for (i = 0; i < 4e6; i++)
			printf "KERNEL_DISPATCH,Agent 4,1,k,%.0f,%.0f\n", now - 9e9 + i * 1e3, now - 9e9 + i * 1e3 + 500
	}' >"$work/rows.csv"
	chown "$hostile" "$work/rows.csv"
	mv "$work/rows.csv" "$dir/1_kernel_trace.csv"
	results_end "$1" "$dir" 1
}
