/* SPDX-License-Identifier: GPL-2.0 */
/* CSV tables of rocprof and rocprofv3 of every version, and what no tool would write. */
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
	   "converted from rocpd: another order and case, CR LF, what is not told is not known");
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
	   "what statistics tell of it");
	is(h.types[GT_COPY], 2, "copies");
	is(h.types[GT_LAUNCH], 1, "a call that launches");
	is(h.back, 0, "the tables are merged by time");
	ok(shows(rp_file_calls, "\nhipLaunchKernel 1 5 5 5\nhipFree 1 3 3 3\n"),
	   "calls by function");
	ok(shows(rp_file_memory, "\nmemory ALLOCATE 0 1 4096 1\n"), "allocations");
	ok(shows(rp_show_files, "read kernel_stats "), "what each file is");
	ph_done(&h);
}

static void test_damaged(void)
{
	const char *head = "Kind,Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp\n";
	char text[1024];

	is(play("e.csv", ""), 0, "an empty file");
	ok(strstr(h.error, "e.csv: is empty"), "… is called so: %s", h.error);
	done("e.csv");
	play("other.csv", "a,b\n1,2\n3,4\n");
	ok(strstr(h.error, "has no header of a table"), "a table of something else: %s", h.error);
	ok(shows(rp_show_files, "refused csv "), "… is refused");
	done("other.csv");
	snprintf(text, sizeof(text), "%sD,k,1,50,20\nD,k,1,60,61\nD,k,1,x,9\nD,k,1,1\nD,k,1,-5,9\n",
		 head);
	play("bad.csv", text);
	is(h.types[GT_DISPATCH], 1, "rows that make no sense are left out");
	ok(shows(rp_show_files, " 1 4 "), "… and counted");
	ok(strstr(h.error, "bad.csv: row "), "… and the first told: %s", h.error);
	done("bad.csv");
	snprintf(text, sizeof(text),
		 "%sD,k,1,50,60\nKind,Agent_Id,Kernel_Name,End_Timestamp,Start_Timestamp\n"
		 "D,1,k,90,80\n",
		 head);
	play("mixed.csv", text);
	ok(ph_find(&h, "k") && ph_find(&h, "k")->ns == 20,
	   "a second header binds the columns anew");
	done("mixed.csv");
	snprintf(text, sizeof(text), "%sD,k,1,50,60\nD,\"k, 1", head);
	play("cut.csv", text);
	is(h.types[GT_DISPATCH], 1, "a file cut within a name shows what is whole");
	ok(strstr(h.error, "cut.csv: row 3"), "… and says where: %s", h.error);
	done("cut.csv");
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
	ok(shows(rp_show_files, "a.csv is a symbolic link"), "the link is named, and not followed");
	ok(shows(rp_show_files, "b.csv is not a regular file"), "the FIFO likewise");
	ph_done(&h);
	ok(ph_play(&h, at("nothing")) < 0 && strstr(h.error, "nothing"), "what is not there: %s",
	   h.error);
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
	test_damaged();
	test_hostile();
	test_being_written();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "the folder goes");
	return done_testing();
}
