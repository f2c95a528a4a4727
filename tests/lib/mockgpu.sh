# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by cases that run in a guest, behind case.sh: the mock GPU (tests/vm/mockgpu).
gpujobs=$GT_OUT/tests/tools/gpujobs
truth=/sys/kernel/debug/mockgpu/truth
mock_driver=/sys/bus/platform/drivers/mockgpu
rings=gfx_0.0.0,comp_1.0.0,comp_1.0.1,sdma0,vcn_dec_0 # of each of its GPUs
[ "${GT_GUEST-}" = 1 ] || skip "the mock GPU is for guests (tests/vm/run.sh)"

mock_load() { # mock_load [PARAMETER=VALUE...] - any user may use the devices
	modprobe gpu-sched && insmod "$GT_MODULES/mockgpu.ko" "$@" && chmod 0666 /dev/dri/*
}

# Linux 6.17 gave the scheduler's events other names. A kernel has one set (these functions are used while
# gpu_sched is loaded), and a module emits those of the other beside it.
sched_events=/sys/kernel/tracing/events/gpu_scheduler
new_names() { # whether the kernel itself has the new names
	[ -e $sched_events/drm_sched_job_queue ] && [ ! -d /sys/module/mockgpu_names ]
}

mock_names() { # the names that the kernel does not have; with "amdgpu" amdgpu's events, too
	local other=names m
	! new_names || other=old
	for m in $other "$@"; do
		insmod "$GT_MODULES/mockgpu_$m.ko" || return
	done
}

own_names() { # what the kernel itself calls the steps of a job
	if new_names; then
		echo drm_sched_job_queue drm_sched_job_run drm_sched_job_done
	else
		echo drm_sched_job drm_run_job drm_sched_process_job
	fi
}

mock_unload_names() {
	local m
	for m in names old amdgpu; do
		[ ! -d /sys/module/mockgpu_$m ] || rmmod mockgpu_$m || return
	done
}

mock_unload() { # with all that was loaded; fails while somebody uses them
	mock_unload_names && { [ ! -d /sys/module/mockgpu ] || rmmod mockgpu; }
}

# Linux 6.1 may leak fences where a process ends while jobs of its are queued: drm_sched_entity_kill_jobs() takes a
# reference to the entity's last fence, and does not give it back if that has just signalled. The scheduler's module
# cannot go then without a warning. Newer kernels are held to leave none.
sched_leaked() { # whether this kernel has; so the modules that use it go by rmmod, and not with all that they depend on
	local n
	for _ in {1..50}; do
		n=$(awk '$1 == "drm_sched_fence" { print $2 }' /proc/slabinfo)
		[ "${n:-0}" != 0 ] || return 1
		sleep .1
	done
	echo "# the scheduler has $n fences, though nobody uses it"
	[[ $(uname -r) == 6.1.* ]]
}

mock_bind() { # mock_bind N
	echo "mockgpu.$1" >$mock_driver/bind && chmod 0666 /dev/dri/*
}

mock_unbind() { # mock_unbind N - returns when all its jobs have ended
	echo "mockgpu.$1" >$mock_driver/unbind
}

mock_push() { # mock_push JOBS OF EACH - three processes of two users, on both GPUs and all rings
	local players=()
	as_uid 1001 "$gpujobs" --device 0 --jobs "$1" --length-us 5000-6000 --ring $rings --depth 60 --contexts 2 --seed 1 >/dev/null & players+=($!)
	as_uid 1002 "$gpujobs" --device 1 --jobs "$1" --length-us 5000-6000 --ring $rings --depth 60 --seed 2 >/dev/null & players+=($!)
	as_uid 1001 "$gpujobs" --device 1 --jobs "$1" --length-us 5000-6000 --ring $rings --depth 60 --seed 3 >/dev/null & players+=($!)
	wait "${players[@]}"
}

mock_each_ring() { # a short job on each ring: where events were lost before it, it has no exec, and the next has one
	local device
	for device in 0 1; do
		"$gpujobs" --device $device --jobs 5 --ring $rings --length-us 100 --wait >/dev/null || return
	done
}

all_done() { # every job of the truth has a result
	! grep -q ' -$' $truth
}
