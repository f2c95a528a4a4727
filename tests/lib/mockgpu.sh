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

mock_names() { # the scheduler's events by their newer names; with "amdgpu" amdgpu's too
	local m
	for m in names "$@"; do
		insmod "$GT_MODULES/mockgpu_$m.ko" || return
	done
}

mock_unload() { # with all that was loaded; fails while somebody uses them
	local m
	for m in mockgpu_names mockgpu_amdgpu mockgpu; do
		[ ! -d /sys/module/$m ] || rmmod $m || return
	done
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

all_done() { # every job of the truth has a result
	! grep -q ' -$' $truth
}
