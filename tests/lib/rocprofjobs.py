# SPDX-License-Identifier: GPL-2.0
"""rocprofjobs.py JOB MOUNT - settings of a job, by a real YAML parser and a shell with a rocprofv3 that
prints what it was given."""
import json
import os
import subprocess
import sys

import yaml
from tap import ok
from written import written

job, mnt = sys.argv[1:3]


def read(name):
    with open(f"{job}/{name}") as f:
        return f.read()


def write(name, value):
    return written(f"{job}/{name}", value)


def jobs():
    return yaml.safe_load(read("input.yaml"))["jobs"]


def taken(name, value):
    ok(write(name, value) == 0 and read(name) == value + "\n", f"{name} takes {value[:60]!r}")


def refused(name, value, why=""):
    before = read(name)
    errno = write(name, value)
    said = open(f"{mnt}/last_cmd_status").read()
    ok(errno and read(name) == before and f"jobs/a/{name}: " in said and why in said,
       f"{name} refuses {value[:40]!r}: {said[-90:].strip()}")


# what a setting may be
for v in ("gemm", "^foo.*(a|b)[0-9]{2,3}?$", r"void add\(int\*\)", "[[:alpha:]_]+'\"", "a: b # c", "- [x]", "", "%TAG !",
          "'''", "{a}"[1:], "\\\\", "(?:a)(?!b)", "~", "null", "yes", "*x"[1:], "&anchor", "@a", "`a`", "a'b''c"):
    taken("kernel_include", v)
    ok((jobs()[0].get("kernel_include_regex") or "") == v, "… which YAML gives back")
taken("kernel_exclude", "copy|fill")
for v in ("(a", "a)", "[a", "*a", "a**", "a{3,1}", "a{", "a{9999}", "\\", "(?<a>b)", "[z-a]", "a|*", "[[:what:]]", "\\x1", "\\1",
          "(" * 40 + ")" * 40):
    refused("kernel_include", v, "no regular expression")
for n in ("program", "kernel_include", "counters", "output_directory", "env", "kernel_iterations", "att_gpu_index"):
    refused(n, b"a\nb: c\n", "one line")
    refused(n, b"a\x00b", "NUL")
    refused(n, b"x" * 5000, "4096 bytes")
    refused(n, b"x" * 1000000, "4096 bytes")
    refused(n, b"a\x1b[31m", "")
refused("kernel_include", "\u00e9", "ASCII")
refused("kernel_include", "a" * 513, "at most 512")
for v in ("1", "1,3-5", "2 , 4", "0-0"):
    taken("kernel_iterations", v)
for v in ("5-3", "1-9999999999"):
    refused("kernel_iterations", v, "goes backwards")
for v in ("x", "1,,2", "-1", "1-", "[1]", "1;2", ","):
    refused("kernel_iterations", v, "numbers and ranges")
taken("kernel_iterations", "1,3-5")
ok(jobs()[0]["kernel_iteration_range"] == "[1, [3-5]]", "iterations as rocprofv3 has them")
for name, good, bad in (("att", "1", "2"), ("att_target_cu", "15", "16"), ("att_shader_engine_mask", "0xffffffff", "0"),
                        ("att_simd_select", "0xF", "16"), ("att_buffer_size", "0xC000000", "1024"),
                        ("att_buffer_size", "1048576", "4294967296"), ("att_serialize_all", "0", "-1"),
                        ("att_activity", "16", "17"), ("att_consecutive_kernels", "8", "99999999999999999999")):
    taken(name, good)
    refused(name, bad)
    refused(name, "1x", "a number")
    refused(name, "", "a number")
taken("att_gpu_index", "0,1")
refused("att_gpu_index", "0,256")
for v in ("/out", "/tmp/a b'c", "/a//b/", "/..a/b.."):
    taken("output_directory", v)
    ok(jobs()[0]["output_directory"] == v, "… which YAML gives back")
for v in ("out", "../x", "/a/../b", "/..", "/", "/a/.", "//"):
    refused("output_directory", v, "a whole path")
taken("output_format", "json,csv,rocpd")
refused("output_format", "csv,csv", "is not one of csv,json")
refused("output_format", "exe", "is not one of")
refused("output_format", "")
taken("traces", "kernel,hip")
refused("traces", "kernel,magic", "is not one of kernel")
for v in ("A=1 B='x y' _c=", "A='$(id)' B=`id`", ""):
    taken("env", v)
for v in ("A", "=1", "1A=2", "A B=1", "A-B=1"):
    refused("env", v, "NAME=VALUE")
for v in ("A='x", 'A="x', "A=\\"):
    refused("env", v, "is open")
taken("container", "rocm_dev.1")
for v in ("a b", "-v", "a;id", "$(id)", "../x"):
    refused("container", v, "name or id")
taken("container", "")
refused("program", "--help", "a program")
refused("program", "''", "a program")
refused("program", " ".join("a" * 200), "128 words")

# passes of counters
tcc = [f"TCC_{i}_sum" for i in range(9)]
sq = [f"SQ_{i}" for i in range(5)]
other = ["L2CacheHit", "GRBM_COUNT", "GRBM_GUI_ACTIVE", "GRBM_CP_BUSY", "FETCH_SIZE"]
taken("counters", ",".join(tcc + sq + other))
got = jobs()
pmc = [j["pmc"] for j in got if "pmc" in j]
ok(sorted(sum(pmc, [])) == sorted(tcc + sq + other), "every counter is in one pass")
most = max(sum(c.startswith(b + "_") for c in p) for p in pmc for b in ("TCC", "SQ", "GRBM"))
ok(most == 4 and max(sum(c.startswith("GRBM_") for c in p) for p in pmc) == 2, "… no block in more than it reads at once")
ok(all(len(p) == 1 for p in pmc if set(p) & {"L2CacheHit", "FETCH_SIZE"}), "what is computed has its own")
ok(len(pmc) == 5, f"… and there are no more than it takes: {len(pmc)}")
ok(sum("advanced_thread_trace" in j for j in got) == 1 and not any("pmc" in j and any(k.startswith("att_") or k == "advanced_thread_trace"
   for k in j) for j in got), "a thread trace has a job of its own")
ok(got[0]["att_buffer_size"] == "0x100000" and got[0]["att_target_cu"] == 15 and got[0]["kernel_trace"] is True, "… with its options")
ok(all(j["kernel_exclude_regex"] == "copy|fill" and j["output_format"] == ["json", "csv", "rocpd"] for j in got), "all have what they share")
for v in ("A,A", "A B", "A;B", "a-b", "1A", "A,,B", "'A'", "A]", "A" * 65):
    refused("counters", v)
refused("counters", ",".join(f"C{i}" for i in range(65)), "at most 64")
taken("counters", ",".join("X%02d" % i + "x" * 58 for i in range(64)))
taken("kernel_include", "'" * 512)
taken("kernel_exclude", "'" * 512)
taken("output_directory", "/" + "'" * 511)
got = jobs()
ok(len(got) == 65 and all(j["kernel_include_regex"] == "'" * 512 and j["output_directory"] == "/" + "'" * 511 for j in got),
   "the longest there can be is whole")
for n, v in (("att", "0"), ("counters", "TCC_HIT_sum,TCC_MISS_sum"), ("kernel_include", "k"), ("kernel_exclude", "")):
    taken(n, v)
ok([list(j)[0] for j in jobs()] == ["pmc"], "counters alone take no run more")
taken("counters", "")
ok(len(jobs()) == 1 and jobs()[0]["hip_trace"] is True, "traces alone are one job")

# the lines to run
os.mkdir("bin")
for tool in ("rocprofv3", "docker"):
    with open(f"bin/{tool}", "w") as f:
        f.write("#!/usr/bin/python3\nimport json, os, sys\nprint(json.dumps([sys.argv, dict(os.environ), "
                "sys.stdin.read() if '-i' in sys.argv and sys.argv[0].endswith('docker') else '']))\n")
    os.chmod(f"bin/{tool}", 0o755)


def run(*args):
    out = subprocess.run(["sh", "-s", *args], input=read("command"), text=True, capture_output=True,
                         env={"PATH": os.getcwd() + "/bin:" + os.environ["PATH"]}, stdin=None)
    ok(out.returncode == 0 and not out.stderr, f"sh runs the lines: {out.stderr[:200]}")
    return [(os.path.basename(a[0]), a[1:], e, i) for a, e, i in map(json.loads, out.stdout.splitlines())]


nasty = ["py thon", "$(touch pwned)", "`touch pwned`", "a'b", 'c"d', "; touch pwned", "\\", "-", "*", "&", "#x", "~", "!!"]
quoted = " ".join("'" + w.replace("'", "'\\''") + "'" for w in nasty)
taken("program", quoted)
taken("env", "A='x y' B='$(touch pwned)' C=\"it's\"")
out = os.getcwd() + "/o ut'$(touch pwned)"
taken("output_directory", out)
r = run()
ok([x[0] for x in r] == ["rocprofv3"] * 3, "three lines: names, counters, the job")
ok(r[0][1] == ["--stats", "--kernel-trace", "-f", "csv", "-d", out + "/discover", "--"] + nasty, "names of kernels, with each word as it was")
ok(r[1][1] == ["--list-avail"], "counters")
ok(r[2][1] == ["-i", f"{job}/input.yaml", "--"] + nasty, "the job")
ok(all(x[2].get("A") == "x y" and x[2].get("B") == "$(touch pwned)" and x[2].get("C") == "it's" for x in r), "… with its environment")
taken("container", "rocm.1")
r = run()
ok([x[0] for x in r] == ["docker"] * 5, "in a container: also its input and its results")
env = ["-e", "A=x y", "-e", "B=$(touch pwned)", "-e", "C=it's"]
ok(r[0][1] == ["exec"] + env + ["rocm.1", "rocprofv3", "--stats", "--kernel-trace", "-f", "csv", "-d",
                                out + "/discover", "--"] + nasty, "… names of kernels")
ok(r[2][1][:3] == ["exec", "-i", "rocm.1"] and r[2][1][-1] == out + "/input.yaml" and r[2][3] == read("input.yaml"), "… the input goes in")
ok(r[3][1][-len(nasty) - 3:] == ["-i", out + "/input.yaml", "--"] + nasty, "… the job")
ok(r[4][1] == ["cp", "rocm.1:" + out + "/.", out], "… the results come out")
os.rmdir(out)
for n in ("container", "program", "env", "output_directory"):
    taken(n, "")
r = run("prog", "a b")
ok([x[1][-3:] for x in (r[0], r[2])] == [["--", "prog", "a b"]] * 2, "without a program the lines take it as arguments")
ok(not os.path.exists("pwned"), "nothing else was run")
ok(write("input.yaml", "x") and write("command", "x") if os.getuid() else True, "what is made of them is not written")
