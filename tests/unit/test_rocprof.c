/* SPDX-License-Identifier: GPL-2.0 */
/* CSV tables of rocprof and rocprofv3 of every version, and what no tool would write. */
#include "../../backend/rocprof/rocprof.h"
#include "../lib/rocprof_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX];
static struct ph h;

static const char *at(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int play(const char *name, const char *text)
{
	ph_file(at(name), text, strlen(text));
	return ph_play(&h, at(name));
}

static void done(const char *name)
{
	ph_done(&h);
	unlink(at(name));
}

static bool shows(void (*show)(struct gt_plugin *, char *, size_t), const char *what)
{
	static char text[GT_BACKEND_TEXT_MAX];

	show(&h.p, text, sizeof(text));
	if (strstr(text, what))
		return true;
	printf("# %s\n", text);
	return false;
}

static void test_kernel_trace(void)
{
	const struct ph_kernel *k;

	play("77_kernel_trace.csv",
	     "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","
	     "\"Kernel_Id\","
	     "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_"
	     "Size\","
	     "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_"
	     "X\","
	     "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_"
	     "Size_Z\"\n"
	     "\"KERNEL_DISPATCH\",\"Agent 4\",1,0,78,1,5,\"void add<1, "
	     "\"\"x\"\">(int*)\",9,1000,1500,16,0,32,4,112,"
	     "256,1,1,4096,1,1\n"
	     "\"KERNEL_DISPATCH\",\"Agent 4\",2,0,78,2,5,\"void add<1, "
	     "\"\"x\"\">(int*)\",10,1100,1200,16,0,32,4,"
	     "112,256,1,1,4096,1,1\n"
	     "\"KERNEL_DISPATCH\",\"Agent "
	     "4\",2,0,78,3,6,mul,11,1300,1310,16,0,8,4,112,256,1,1,4096,1,1\n");
	is(h.types[GT_DISPATCH], 3, "three kernels ran");
	is(h.back, 0, "records come by time, though the rows do not end in order");
	is(h.types[GT_QUEUE], 2, "on two queues");
	is(h.kernels, 2, "they are two");
	k = ph_find(&h, "void add<1, \"x\">(int*)");
	ok(k && k->n == 2 && k->ns == 600, "quotes and commas in a name; its dispatches and time");
	ok(k && k->v[GT_KV_VGPR] == 32 && k->v[GT_KV_AGPR] == 4 && k->v[GT_KV_SGPR] == 112 &&
		   k->v[GT_KV_LDS] == 16 && k->v[GT_KV_SCRATCH] == 0 &&
		   k->v[GT_KV_GRID_X] == 4096 && k->v[GT_KV_WORKGROUP_X] == 256,
	   "what it takes");
	ok(k && k->uid == getuid(), "it is its file's owner's");
	is(h.first.queue.pid, 77, "the file's name tells the process");
	is_str(h.gpu[0], "agent4", "without a table of devices the agent is the GPU");
	is(h.watermark, h.last, "the watermark follows");
	is(h.errors, 0, "nothing is wrong");
	done("77_kernel_trace.csv");
}

static void test_old_versions(void)
{
	const struct ph_kernel *k;

	play("k.csv",
	     "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
	     "\"Start_Timestamp\",\"End_Timestamp\",\"Private_Segment_Size\",\"Group_Segment_"
	     "Size\"\n"
	     "\"KERNEL_DISPATCH\",1,139690710949888,15,\"t(float*, "
	     "int)\",0,671599758568,671599825328,8,64");
	k = ph_find(&h, "t(float*, int)");
	ok(k && k->n == 1 && k->ns == 66760 && k->v[GT_KV_SCRATCH] == 8 && k->v[GT_KV_LDS] == 64,
	   "6.2: other columns, no last newline");
	is(h.first.queue.ctx, 139690710949888, "… and a queue's handle");
	done("k.csv");
	play("k.csv", "guid,kind,agent_id,kernel_name,START_TIMESTAMP,End_Timestamp,Lds_Block_Size,"
		      "Vgpr_Count\r\n"
		      "x,KERNEL_DISPATCH,3,k,5,9,32,7\r\n");
	k = ph_find(&h, "k");
	ok(k && k->ns == 4 && k->v[GT_KV_LDS] == 32 && k->v[GT_KV_VGPR] == 7 &&
		   k->v[GT_KV_SGPR] == GT_NONE32,
	   "converted from rocpd: another order and case, CR LF, what is not reported is not "
	   "known");
	done("k.csv");
	play("v1.csv",
	     "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\",\"tid\","
	     "\"grd\",\"wgr\","
	     "\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\",\"wave_size\",\"sig\",\"obj\","
	     "\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\"\n"
	     "0,\"vectorAdd(int) [clone "
	     ".kd]\",9,0,0,31,32,1048576,256,0,0,8,0,16,64,\"0x0\",\"0x7f\","
	     "1000,1600,2000,2100,400\n");
	k = ph_find(&h, "vectorAdd");
	ok(k && k->ns == 400 && k->queue_ns == 600 && k->v[GT_KV_GRID_X] == 1048576, "rocprof v1");
	is_str(h.gpu[0], "agent9", "… its device");
	done("v1.csv");
}

static void test_other_tables(void)
{
	char path[600];

	mkdir(at("run"), 0755);
	snprintf(path, sizeof(path), "%s/run/5_agent_info.csv", dir);
	ph_text(path, "Node_Id,Agent_Type,Location_Id,Domain,Gpu_Id\n0,\"CPU\",0,0,0\n2,\"GPU\","
		      "29952,0,12605\n");
	snprintf(path, sizeof(path), "%s/run/5_counter_collection.csv", dir);
	ph_text(path,
		"Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value\n1,2,k,SQ_WAVES,2\n"
		"2,\"Agent 2\",k,SQ_WAVES,10.5\n");
	snprintf(path, sizeof(path), "%s/run/5_memory_copy_trace.csv", dir);
	ph_text(path,
		"Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Start_Timestamp,End_"
		"Timestamp\n"
		"MEMORY_COPY,HOST_TO_DEVICE,0,2,10,30\nMEMORY_COPY,DEVICE_TO_HOST,2,0,40,50\n");
	snprintf(path, sizeof(path), "%s/run/5_hip_api_trace.csv", dir);
	ph_text(path, "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_"
		      "Timestamp\n"
		      "HIP_RUNTIME_API,hipLaunchKernel,5,5,1,20,25\nHIP_RUNTIME_API,hipFree,5,5,2,"
		      "26,29\n");
	snprintf(path, sizeof(path), "%s/run/5_marker_api_trace.csv", dir);
	ph_text(path, "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_"
		      "Timestamp\n"
		      "MARKER_CORE_API,hipLaunchKernel_range,5,5,3,21,22\n"
		      "MARKER_CORE_API,mark,5,5,4,23,23\n");
	snprintf(path, sizeof(path), "%s/run/5_memory_allocation_trace.csv", dir);
	ph_text(path,
		"Kind,Operation,Agent_Id,Allocation_Size,Address,Start_Timestamp,End_Timestamp\n"
		"MEMORY_ALLOCATION,ALLOCATE,\"Agent 2\",4096,0x10,1,2\n");
	snprintf(path, sizeof(path), "%s/run/5_kernel_stats.csv", dir);
	ph_text(path, "Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev\nk,7,700,"
		      "100.0,50,90,110,1\n");
	is(ph_play(&h, at("run")), 0, "a folder plays");
	is(h.errors, 0, "… with nothing wrong: %s", h.error);
	is_str(h.gpu[0], "0000:75:00.0", "a location is a place on the PCI bus");
	is(h.gpus, 1, "all tables mean the same GPU");
	ok(ph_find(&h, "k") && ph_find(&h, "k")->readings == 2 && ph_find(&h, "k")->sum == 12.5 &&
		   !strcmp(ph_find(&h, "k")->counter, "SQ_WAVES"),
	   "counters of a kernel");
	ok(ph_find(&h, "k") && ph_find(&h, "k")->calls == 7 && ph_find(&h, "k")->total_ns == 700,
	   "what statistics report it");
	is(h.types[GT_COPY], 2, "copies");
	is(h.types[GT_LAUNCH], 1, "a call that launches, and no range that a program named so");
	is(h.back, 0, "the tables are merged by time");
	ok(shows(rp_file_calls, "0 1 5 5 5 hipLaunchKernel\n0 1 3 3 3 hipFree\n"),
	   "calls by function");
	ok(shows(rp_file_calls, " 1 1 1 1 hipLaunchKernel_range\n"), "… and ranges");
	ok(shows(rp_file_calls, " 1 0 0 0 mark\n"), "… of no length, too");
	ok(shows(rp_file_allocations, " memory 0 1 4096 1 ALLOCATE\n"), "allocations");
	ok(shows(rp_show_files, "read kernel_stats "), "what each file is");
	ph_done(&h);
}

/* Of rocprof v1 and v2, and of rocprof-compute, which joins several runs */
static void test_columns_of_counters(void)
{
	const struct ph_kernel *k;
	char *text = malloc(1 << 20), *p = text;

	play("c.csv",
	     "\xef\xbb\xbfIndex,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,"
	     "vgpr,sgpr,fbar,sig,obj,GRBM_COUNT,SQ_WAVES,DispatchNs,BeginNs,EndNs,CompleteNs\r\n"
	     "0,k,0,0,0,5,5,64,64,0,0,8,16,0,0x0,0x7f,2048.0000,nan,10,20,30,40\r\n"
	     "1,k,0,0,0,5,5,64,64,0,0,8,16,0,0x0,0x7f,1,2.5,50,60,90,95\r\n");
	k = ph_find(&h, "k");
	ok(k && k->n == 2 && k->ns == 40 && k->queue_ns == 20, "counters by column: dispatches");
	ok(k && k->readings == 3 && k->sum == 2051.5 && !strcmp(k->counter, "SQ_WAVES"),
	   "… and what was counted, \"nan\" is nothing");
	ok(k && k->v[GT_KV_VGPR] == 8, "… and vgpr");
	ok(shows(rp_show_files, "read counters_by_column ") && shows(rp_show_files, " 2 0 /"),
	   "… rows are counted, not cells");
	is(h.errors, 0, "… with nothing wrong: %s", h.error);
	done("c.csv");
	play("c.csv", "Index,KernelName,gpu-id,TotalWorkItems,Remark\n0,k,1,262144.0,none\n");
	k = ph_find(&h, "k");
	ok(k && !k->n && k->readings == 1 && k->sum == 262144, "without times: counters only");
	ok(strstr(h.error, "column Remark has no numbers"), "… words are none: %s", h.error);
	done("c.csv");
	play("c.csv",
	     "Index,KernelName,gpu-id,SQ_WAVES,Late\n0,k,1,2,x\n1,k,1,x,y\n2,k,1,3,5\n3,k,1,,z\n");
	k = ph_find(&h, "k");
	ok(k && k->readings == 3 && k->sum == 10, "one cell that is no number is left out");
	ok(shows(rp_show_files, " 2 3 /"), "… and counted");
	ok(strstr(h.error, "row 3, column SQ_WAVES: is no number"), "… as what it is: %s", h.error);
	done("c.csv");
	p += sprintf(p, "Dispatch_ID,Kernel_Name,GPU_ID,wave_size,obj");
	for (int i = 0; i < 3000; i++)
		p += sprintf(p, ",TCC_HIT[%d]", i);
	p += sprintf(p, ",obj_1,Start_Timestamp,End_Timestamp\n1,k,2,64,0x7f");
	for (int i = 0; i < 3000; i++)
		p += sprintf(p, ",%d", i);
	sprintf(p, ",0x7f,1000.5,1500.5\n");
	play("c.csv", text);
	k = ph_find(&h, "k");
	ok(k && k->readings == 3000 && k->sum == 2999 * 1500 && k->ns == 500,
	   "3000 columns; times that are averages");
	is(h.errors, 0, "… with nothing wrong: %s", h.error);
	done("c.csv");
	p = text + sprintf(text, "Dispatch_ID,Kernel_Name,GPU_ID");
	for (int i = 0; i < RP_COLUMNS; i++)
		p += sprintf(p, ",C%d", i);
	is(play("c.csv", text), -EBADMSG, "more columns than there may be");
	ok(strstr(h.error, "more than 8192 columns"), "… are called so: %s", h.error);
	done("c.csv");
	free(text);
}

static void test_stats_of(void)
{
	const char *kernels =
		"Name,Calls,TotalDurationNs,AverageNs,Percentage\n\"add(int)\",3,300,100,9\n";
	const char *calls =
		"Name,Calls,TotalDurationNs,AverageNs,Percentage\nhipMalloc,3,300,100,9\n";
	const char *names[] = { "hip_kernel_stats.csv", "hip.stats.csv", "x.csv" };

	for (unsigned int i = 0; i < 3; i++) {
		play(names[i], kernels);
		ok(ph_find(&h, "add(int)") && ph_find(&h, "add(int)")->calls == 3, "%s: of kernels",
		   names[i]);
		done(names[i]);
	}
	play("kernels.csv", calls);
	is(h.kernels, 0, "a table of calls, whatever it is called");
	ok(shows(rp_file_calls, " 3 300 - - hipMalloc\n"), "… is shown as that");
	done("kernels.csv");
	ok(rp_stats_of("a_hip_stats.csv.gz") == RP_STATS_CALLS &&
		   rp_stats_of("a_kernel_stats.csv.zst") == RP_STATS_KERNELS &&
		   rp_stats_of("a.csv.gz") == RP_STATS_EITHER,
	   "the name says it, too, of what is compressed");
}

/* Long names of one table leave room for all others */
static void test_long_names(void)
{
	const unsigned int n = 3000, len = 250;
	char *text = malloc(64 + n * (len + 64)), *p = text, *shown;
	unsigned int rows = 0;

	p += sprintf(p, "Name,Calls,TotalDurationNs,AverageNs,Percentage\n");
	for (unsigned int i = 0; i < n; i++)
		p += sprintf(p, "hip%0*u,3,%u,100,9\n", (int)len, i, 300000 + i);
	sprintf(p, "hipMalloc,1,1,1,1\n");
	play("long_hip_stats.csv", text);
	shown = malloc(GT_BACKEND_TEXT_MAX);
	rp_file_calls(&h.p, shown, GT_BACKEND_TEXT_MAX);
	for (const char *s = shown; (s = strchr(s, '\n')); s++)
		rows++;
	is(rows, n + 1, "each function with a long name has its row");
	ok(strstr(shown, "hipMalloc\n"), "and so has the one that took least time");
	free(shown);
	free(text);
	done("long_hip_stats.csv");
}

/* As PowerShell and spreadsheets save tables */
static void test_mark(void)
{
	static const char *const heads[] = {
		"\xef\xbb\xbf\"Name\",\"Calls\",\"TotalDurationNs\"\r\nk,1,2\r\n",
		"\xef\xbb\xbfNode_Id,Agent_Type,Location_Id\n0,GPU,1\n",
		"\xef\xbb\xbfKernel_Name,Start_Timestamp,End_Timestamp\n",
	};

	for (unsigned int i = 0; i < 3; i++)
		ok(rp_knows("x", (const uint8_t *)heads[i], strlen(heads[i])),
		   "a table behind a mark of UTF-8: %.20s", heads[i] + 3);
}

/* A text of JSON may have a NUL in it: what stands behind that is the text's, too. */
static void test_nul_in_json(void)
{
	const struct ph_kernel *k;

	play("v1.json",
	     "{ \"traceEvents\":[{}\n,{\"pid\":6,\"args\":{\"BeginNs\":\"5\",\"EndNs\":\"9\","
	     "\"pid\":\"7\",\"gpu-id\":\"1\",\"KernelName\":\"nul\\u0000behind it\"}}\n]}\n");
	k = ph_find(&h, "nul");
	ok(k && k->len == 13 && !memcmp(k->name, "nul\0behind it", 13), "a NUL in a name");
	done("v1.json");
}

#define READING(handle, value) "{\"counter_id\":{\"handle\":" handle "},\"value\":" value "}"

/* One that was dispatched, and nothing says when it ran, has not waited. */
static void test_unknown_wait(void)
{
	play("w.csv", "Kernel_Name,Counter_Name,Counter_Value,gpu-id,DispatchNs\nk,C,1,0,5\n");
	ok(ph_find(&h, "k") && ph_find(&h, "k")->readings == 1 && !ph_find(&h, "k")->queue_ns,
	   "a wait without a known end is none");
	done("w.csv");
}

/* Readings that are no numbers, of no counter, or too many: each counts as a fault. */
static void test_readings(void)
{
	char text[8192], *p = text;

	p += sprintf(p,
		     "{\"rocprofiler-sdk-tool\":[{\"agents\":[{\"id\":{\"handle\":9},\"type\":2}],"
		     "\"counters\":[{\"id\":{\"handle\":5},\"name\":\"C\"}],"
		     "\"kernel_symbols\":[{\"kernel_id\":3,\"formatted_kernel_name\":\"k\"}],"
		     "\"callback_records\":{\"counter_collection\":[{\"dispatch_data\":"
		     "{\"dispatch_info\":{\"agent_id\":{\"handle\":9},\"kernel_id\":3}},"
		     "\"records\":[" READING("5", "1e999") "," READING("6", "1"));
	for (int i = 0; i < 64; i++)
		p += sprintf(p, "," READING("5", "2"));
	strcpy(p, "]}]}}]}");
	play("1_results.json", text);
	ok(ph_find(&h, "k") && ph_find(&h, "k")->readings == 62 && ph_find(&h, "k")->sum == 124,
	   "readings that make sense, and for which there is room");
	ok(shows(rp_doctor, "\nfaults 4\n"), "… others are counted");
	done("1_results.json");
}

/* The same dispatch, copy or call again is none */
static void test_twice(void)
{
	static const char head[] = "Kind,Agent_Id,Queue_Id,Dispatch_Id,Kernel_Name,Correlation_Id,"
				   "Start_Timestamp,End_Timestamp\n";
	static const char rows[] = "KERNEL_DISPATCH,4,1,1,add,9,1000,1500\n"
				   "KERNEL_DISPATCH,4,1,2,add,10,1400,1700\n";
	static const char others[] = "KERNEL_DISPATCH,4,1,3,add,11,1000,1500\n"
				     "KERNEL_DISPATCH,4,2,1,add,9,1000,1500\n"
				     "KERNEL_DISPATCH,5,1,1,add,9,1000,1500\n"
				     "KERNEL_DISPATCH,4,1,1,add,9,1000,1501\n"
				     "KERNEL_DISPATCH,4,1,1,add,9,1001,1500\n";
	static const char copies[] = "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,"
				     "Correlation_Id,Start_Timestamp,End_Timestamp\n";
	static const char copy[] = "MEMORY_COPY,HOST_TO_DEVICE,0,4,7,100,200\n";
	static const char calls[] = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,"
				    "Start_Timestamp,End_Timestamp\n";
	static const char call[] = "HIP_RUNTIME_API,hipLaunchKernel,77,77,7,100,200\n";
	char text[2048];

	snprintf(text, sizeof(text), "%s%s%s", head, rows, rows);
	play("77_kernel_trace.csv", text);
	is(h.types[GT_DISPATCH], 2, "lines that are there twice are two kernels");
	ok(shows(rp_doctor, "duplicates 2\n"), "what was left out is counted");
	ok(shows(rp_doctor, "file0_events 4\nfile0_used 2\nfile0_skipped 2\n"
			    "file0_skipped_duplicates 2\n"),
	   "... by file");
	done("77_kernel_trace.csv");
	snprintf(text, sizeof(text), "%s%s%s", head, rows, others);
	play("77_kernel_trace.csv", text);
	is(h.types[GT_DISPATCH], 7, "others of another number, queue, device, begin or end count");
	done("77_kernel_trace.csv");
	mkdir(at("two"), 0755);
	snprintf(text, sizeof(text), "%s%s", head, rows);
	ph_text(at("two/77_kernel_trace.csv"), text);
	ph_text(at("two/copy_kernel_trace.csv"), text);
	ph_text(at("two/78_kernel_trace.csv"), text);
	snprintf(text, sizeof(text), "%s%s%s", copies, copy, copy);
	ph_text(at("two/77_memory_copy_trace.csv"), text);
	snprintf(text, sizeof(text), "%s%s%s", calls, call, call);
	ph_text(at("two/77_hip_api_trace.csv"), text);
	ph_play(&h, at("two"));
	is(h.types[GT_DISPATCH], 4, "files of two names are one run, of two processes are two");
	is(h.types[GT_COPY], 1, "copies count once, too");
	is(h.types[GT_LAUNCH], 1, "so do calls");
	ph_done(&h);
	unlink(at("two/77_kernel_trace.csv"));
	unlink(at("two/copy_kernel_trace.csv"));
	unlink(at("two/78_kernel_trace.csv"));
	unlink(at("two/77_memory_copy_trace.csv"));
	unlink(at("two/77_hip_api_trace.csv"));
	rmdir(at("two"));
}

static void test_damaged(void)
{
	const char *head = "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\n";
	char text[1024];

	is(play("e.csv", ""), -EBADMSG, "an empty file fails");
	ok(strstr(h.error, "e.csv: is empty"), "… is called so: %s", h.error);
	done("e.csv");
	is(play("other.csv", "a,b\n1,2\n3,4\n"), -EBADMSG, "so does another's table");
	ok(strstr(h.error, "has no header of a table"), "a table of something else: %s", h.error);
	ok(shows(rp_show_files, "refused csv "), "… is refused");
	done("other.csv");
	is(play("noend.csv", "Kind,Kernel_Name,Agent_Id,Start_Timestamp\nD,k,1,50\n"), -EBADMSG,
	   "a table that lacks a column");
	ok(strstr(h.error, "has no column End_Timestamp"), "… which is named: %s", h.error);
	done("noend.csv");
	snprintf(text, sizeof(text), "%sD,k,1,50,20\nD,k,1,60,61\nD,k,1,x,9\nD,k,1,1\nD,k,1,-5,9\n",
		 head);
	play("bad.csv", text);
	is(h.types[GT_DISPATCH], 1, "rows that make no sense are left out");
	ok(shows(rp_show_files, " 1 4 "), "… and counted");
	ok(strstr(h.error, "bad.csv: row "), "… and the first reported: %s", h.error);
	ok(shows(rp_doctor, "bad.csv\nfile0_kind kernel_trace\nfile0_events 1\nfile0_used 1\n"
			    "file0_skipped 0\nfile0_damaged 4\nfile0_damaged_first_row 2\n"),
	   "… in doctor by file");
	done("bad.csv");
	mkdir(at("cpu"), 0755);
	ph_text(at("cpu/agent_info.csv"), "Node_Id,Agent_Type,Location_Id\n0,CPU,0\n1,GPU,5\n");
	snprintf(text, sizeof(text), "%sD,k,0,1,2\nD,k,1,1,2\n", head);
	ph_text(at("cpu/kernel_trace.csv"), text);
	ph_play(&h, at("cpu"));
	ok(shows(rp_doctor, "file0_events 2\nfile0_used 2\n"), "devices are counted");
	ok(shows(rp_doctor, "file1_events 2\nfile1_used 1\nfile1_skipped 1\n"
			    "file1_skipped_without_gpu 1\n"),
	   "a kernel of what is no GPU is left out, and counted");
	ph_done(&h);
	play("cut_results.json", "{\"rocprofiler-sdk-tool\": [{\"metadata\": {\"pid\": 1},");
	ok(shows(rp_doctor, "file0_damaged 1\nfile0_damaged_first_byte 51\n"), "where JSON ends");
	done("cut_results.json");
	snprintf(text, sizeof(text),
		 "%sD,k,1,50,60\nKind,Agent_Id,Kernel_Name,End_Timestamp,Start_Timestamp\n"
		 "D,1,k,90,80\n",
		 head);
	play("mixed.csv", text);
	ok(ph_find(&h, "k") && ph_find(&h, "k")->ns == 20,
	   "a second header binds the columns anew");
	done("mixed.csv");
	snprintf(text, sizeof(text), "%sD,k,1,50,60\nKind,Foo,Bar\nD,1,2\nD,3,4\n%sD,k,1,70,90\n",
		 head, head);
	play("strange.csv", text);
	is(h.types[GT_DISPATCH], 2, "a second header that is not known");
	ok(shows(rp_show_files, " 2 3 /"), "… is counted, and what is behind it until the next");
	ok(strstr(h.error, "row 3 is a header of no table"), "… and reported: %s", h.error);
	done("strange.csv");
	snprintf(text, sizeof(text), "%sD,k,1,50,60\nD,\"k, 1", head);
	play("cut.csv", text);
	is(h.types[GT_DISPATCH], 1, "a file cut within a name shows what is whole");
	ok(strstr(h.error, "cut.csv: row 3"), "… and says where: %s", h.error);
	done("cut.csv");
	snprintf(text, sizeof(text), "%sD,k,1,0,0\nD,k,1,50,60\n", head);
	play("zero.csv", text);
	ok(h.types[GT_DISPATCH] == 1 && ph_find(&h, "k")->ns == 10,
	   "a kernel that has no times is left out");
	ok(shows(rp_doctor, "file0_damaged 1\nfile0_damaged_first_row 2\n"), "… and counted");
	ok(strstr(h.error, "zero.csv: row 2 has no times"), "… and said: %s", h.error);
	done("zero.csv");
	play("zero_counter_collection.csv",
	     "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,Start_"
	     "Timestamp,End_"
	     "Timestamp\n1,1,9,k,WAVES,5,0,0\n2,1,9,k,WAVES,6,50,60\n");
	ok(ph_find(&h, "k") && ph_find(&h, "k")->readings == 2 && ph_find(&h, "k")->sum == 11,
	   "a reading of a counter counts without times");
	done("zero_counter_collection.csv");
}

static void test_hostile(void)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 200), *p = text;
	char path[600];

	p += sprintf(p, "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\nD,\"../../etc/"
			"\n\"\"x\"\"\",1,1,2\nD,\"");
	memset(p, 'a', len);
	p += len;
	p += sprintf(p, "\",1,3,4\n");
	ph_file(at("big.csv"), text, (size_t)(p - text));
	ph_play(&h, at("big.csv"));
	is(h.types[GT_DISPATCH], 2, "a name of 1 MiB, and one of dots, lines and quotes");
	ok(ph_find(&h, "../../etc/\n\"x\""), "… which is handed on as it is");
	ok(ph_find(&h, "aaaa") && ph_find(&h, "aaaa")->len == GT_KERNEL_NAME_MAX &&
		   ph_find(&h, "aaaa")->hash,
	   "… the long one cut, with a hash of all of it");
	done("big.csv");
	free(text);
	mkdir(at("links"), 0755);
	snprintf(path, sizeof(path), "%s/links/a.csv", dir);
	ok(!symlink("/etc/shadow", path), "a link to /etc/shadow");
	snprintf(path, sizeof(path), "%s/links/b.csv", dir);
	ok(!mkfifo(path, 0644), "a FIFO");
	ok(ph_play(&h, at("links")) < 0, "are no results");
	ok(strstr(h.error, "no results in it"), "… and all that there is: %s", h.error);
	ph_done(&h);
	snprintf(path, sizeof(path), "%s/links/c.csv", dir);
	ph_text(path, "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\nD,k,1,1,2\n");
	is(ph_play(&h, at("links")), 0, "beside one that is");
	is(h.types[GT_DISPATCH], 1, "… which is read");
	ok(shows(rp_show_problems, "a.csv: is a symbolic link"),
	   "the link is named, and not followed");
	ok(shows(rp_show_problems, "b.csv: is not a regular file"), "the FIFO likewise");
	ph_done(&h);
	ok(ph_play(&h, at("nothing")) < 0 && strstr(h.error, "nothing"), "what is not there: %s",
	   h.error);
	ph_done(&h);
}

/* Drains until it stands at @ts: 1; or to the end */
static int drain_to(uint64_t ts)
{
	int ret = 0;

	while (ret >= 0 && h.watermark != ts) {
		h.timer = 0;
		ret = rp_drain(&h.p);
	}
	return ret < 0 ? ret : 1;
}

static void test_pause(void)
{
	const char *text = "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\n"
			   "D,k,1,10,20\nD,k,1,21,30\nD,k,1,31,40\nD,k,1,41,50\n";

	ph_text(at("p.csv"), text);
	ph_init(&h);
	h.p.recording = true;
	h.opt.files = (char *)at("p.csv");
	is(rp_start(&h.p), 0, "results are played");
	is(rp_control(&h.p, GT_CTL_PAUSE, 0), 0, "and paused");
	is(h.timer, 0, "no time is asked for then");
	is(rp_control(&h.p, GT_CTL_RESCAN, 0), -EOPNOTSUPP, "a rescan is not for them");
	is(rp_control(&h.p, GT_CTL_SEEK, 40), 0, "a seek");
	is(drain_to(40), 1, "goes on");
	is(h.types[GT_DISPATCH], 2, "plays up to its time");
	is(h.watermark, 40, "where it stands");
	is(h.timer, 0, "and waits");
	rp_drain(&h.p);
	is(h.types[GT_DISPATCH], 2, "whatever comes");
	h.ahead += 600ull * 1000000000;
	is(rp_control(&h.p, GT_CTL_RESUME, 0), 0, "until it is played on");
	is(drain_to(UINT64_MAX), -ENODATA, "to its end");
	is(h.types[GT_DISPATCH], 4, "with all of it");
	is(h.back, 0, "by time");
	is(h.errors, 0, "and nothing wrong: %s", h.error);
	done("p.csv");
}

/* What is left out of a folder is counted */
static void test_left_out(void)
{
	const char *text = "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\nD,k,1,1,2\n";
	char path[600];

	mkdir(at("packed"), 0755);
	ph_text(at("packed/1_kernel_trace.csv.gz"), "");
	ph_text(at("packed/2_results.json.xz"), "");
	ph_text(at("packed/notes.txt.gz"), "");
	ok(rp_knows(at("packed"), NULL, 0), "a folder of compressed results is one of results");
	is(ph_play(&h, at("packed")), -ENOTSUP, "… which are not unpacked there");
	ok(strstr(h.error, "packed: 2 results in it are compressed"), "… as it says: %s", h.error);
	ph_done(&h);
	ph_text(at("packed/3_kernel_trace.csv"), text);
	for (const char *d = "packed/1/2/3/4/5/6", *s = d; (s = strchr(s, '/')); s++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir, (int)(s - d) + 2, d);
		mkdir(path, 0755);
	}
	is(ph_play(&h, at("packed")), 0, "beside one that is not");
	ok(strstr(h.error, "packed: 2 results in it are compressed"), "… it is said as well: %s",
	   h.error);
	ok(shows(rp_doctor, "\nfiles_compressed 2\nfolders_too_deep 1\n"),
	   "they are counted, and a folder too far below");
	ph_done(&h);
	mkdir(at("many"), 0755);
	for (int i = 0; i < 4099; i++) {
		snprintf(path, sizeof(path), "%s/many/%d.csv", dir, i);
		ph_text(path, i ? "" : text);
	}
	ph_play(&h, at("many"));
	ok(shows(rp_doctor, "\nfiles_left_out 3843\n"), "so are names of a folder with too many");
	ph_done(&h);
}

/* A database is named by whatever way leads to it; what lies beside it is found on the same way. */
static void test_being_written(void)
{
	mkdir(at("there"), 0755);
	ok(!symlink("there", at("way")), "a link to a folder");
	ph_text(at("there/r.db"), "SQLite format 3");
	ph_text(at("there/r.db-journal"), "a page as it was");
	ok(ph_play(&h, at("way/r.db")) < 0 && strstr(h.error, "r.db: is being written"),
	   "a database with a journal beside it, through a link: %s", h.error);
	ph_done(&h);
	ph_text(at("there/r.db-journal"), "");
	ph_play(&h, at("way/r.db"));
	ok(!strstr(h.error, "is being written"), "one whose journal is empty is not: %s", h.error);
	ph_done(&h);
}

int main(void)
{
	char command[TMP_PATH_MAX + 8];

	if (!tmp_dir(dir, "gt-rocprof"))
		return 1;
	test_kernel_trace();
	test_old_versions();
	test_other_tables();
	test_columns_of_counters();
	test_stats_of();
	test_long_names();
	test_mark();
	test_nul_in_json();
	test_unknown_wait();
	test_readings();
	test_twice();
	test_damaged();
	test_hostile();
	test_pause();
	test_left_out();
	test_being_written();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "the folder goes");
	return done_testing();
}
