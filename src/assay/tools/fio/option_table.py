"""Every option of fio, and what becomes of it here (`tools/option_meaning.py`).

A new one is a row. Supported options are read in `settings.py`. A refused option is accepted with its default value, which
asks for nothing.
"""

from assay.tools.option_meaning import Noted, Refused, Table, Taken, table

ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "blockalign": "ba",
    "iodepth_batch_submit": "iodepth_batch",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "io_limit": "io_size",
    "fill_fs": "fill_device",
    "fileoffset": "offset",
    "allrandrepeat": "randrepeat",
    "nr_files": "nrfiles",
    "threads": "thread",
    "timeout": "runtime",
    "iomem": "mem",
    "mem_align": "iomem_align",
    "ratemin": "rate_min",
    "ratecycle": "rate_cycle",
    "wait_for_previous": "stonewall",
    "log_max_value": "log_window_value",
    "log_unix_epoch": "log_alternate_epoch",
    "disable_bw": "disable_bw_measurement",
    "ss": "steadystate",
    "ss_dur": "steadystate_duration",
    "ss_ramp": "steadystate_ramp_time",
    "ss_interval": "steadystate_check_interval",
    "data_placement": "dataplacement",
    "fdp_pli_select": "plid_select",
    "fdp_pli": "plids",
}
"""Other names of options."""

FLAGS = frozenset({
    "time_based", "group_reporting", "stonewall", "new_group", "thread", "norandommap", "exitall", "zero_buffers",
    "refill_buffers", "stats", "fixedbufs", "registerfiles", "sqthread_poll", "hipri", "nonvectored",
    "uncached", "nowait", "exitall_on_error", "bs_unaligned", "verify_only",
})  # fmt: skip
"""Options whose value may be left out, and then take none from the next word."""

ALONE = frozenset({"parse-only", "showcmd", "readonly", "minimal", "append-terse"})
"""Options of the command line that take no value."""

_TAKEN = frozenset({
    "name", "description", "rw", "ioengine", "bs", "bsrange", "bssplit", "ba", "size", "io_size", "filesize", "offset",
    "offset_increment", "nrfiles", "filename", "filename_format", "unique_filename", "directory", "openfiles",
    "file_service_type", "iodepth", "iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "numjobs",
    "thread", "direct", "buffered", "sync", "fsync", "fdatasync", "end_fsync", "fsync_on_close", "rate", "rate_iops",
    "rate_process", "thinktime", "thinktime_spin", "thinktime_blocks", "runtime", "time_based", "ramp_time", "stonewall",
    "wait_for", "startdelay", "random_distribution", "norandommap", "randseed", "rwmixread", "rwmixwrite",
    "verify", "do_verify", "refill_buffers",
    "buffer_compress_percentage", "dedupe_percentage", "zero_buffers", "loops", "group_reporting",
    "new_group",
    "overwrite", "fallocate", "unlink", "invalidate", "number_ios", "kb_base", "percentage_random", "cpus_allowed",
    "cpus_allowed_policy", "numa_cpu_nodes", "fadvise_hint", "sqthread_poll", "sqthread_poll_cpu", "hipri",
    "percentile_list", "stats", "iodepth_low", "exitall", "exit_what", "flow", "flow_id", "flow_sleep",
    "random_sequence_stride", "fill_device", "verify_backlog", "steadystate", "steadystate_duration",
    "steadystate_ramp_time", "steadystate_check_interval", "hugepage-size",
})  # fmt: skip

_LOGS = "the run has what such a file would hold: assay export, assay report"
_SHOWN = "it changes only what fio prints"
_CLOCK = "Assay reads the clock as always, and reports the cost"
_MEMORY = "Assay chooses the memory of a transfer: aligned, and registered where the backend supports it"

_NOTED = {
    **dict.fromkeys((
        "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec", "log_offset",
        "log_hist_coarseness", "log_window_value", "log_prio", "log_compression", "log_compression_cpus", "log_entries",
        "log_store_compressed", "log_alternate_epoch", "log_alternate_epoch_clock_id", "log_issue_time", "per_job_logs",
        "block_error_percentiles", "bwavgtime", "iopsavgtime",
    ), _LOGS),
    **dict.fromkeys((
        "clat_percentiles", "lat_percentiles", "slat_percentiles", "significant_figures", "disk_util", "unit_base",
        "unified_rw_reporting", "error_dump", "verify_dump",
    ), _SHOWN),
    **dict.fromkeys((
        "gtod_reduce", "disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement", "gtod_cpu", "clocksource",
        "job_start_clock_id",
    ), _CLOCK),
    **dict.fromkeys((
        "iomem_align", "fixedbufs", "registerfiles", "force_async", "lockmem", "nonvectored",
    ), _MEMORY),
    "scramble_buffers": "Assay writes new bytes each time by itself; with refill_buffers=0 one more is changed each time",
    "buffer_compress_chunk": "Assay mixes what can be compressed evenly into each block",
    "randrepeat": "the same seed gives the same operations; without randseed Assay's is 1",
    "random_generator": "Assay's generator reaches every block of every file",
    "softrandommap": "a map takes no memory here",
    "create_serialize": "files are laid out before the start, whatever their order",
    "create_fsync": "files are on the storage before the start",
    "create_on_open": "files are laid out before the start",
    "allow_file_create": "files are laid out below Assay's own folder",
    "allow_mounted_write": "Assay writes to no device",
    "filetype": "Assay's files are regular files",
    "comm": "threads have Assay's names",
    "serialize_overlap": "it orders what overlaps; each block of a map is in flight once",
    "verify_fatal": "damage is counted and reported with each place; the result is then not valid",
    "verify_state_load": "Assay tracks what was written",
    "verify_state_save": "Assay tracks what was written",
    "verify_async": "checking is not part of any latency",
    "verify_async_cpus": "checking is not part of any latency",
    "io_submit_mode": "an open loop's operations are due by its schedule, however long others take",
    "exitall_on_error": "the first error ends its job, and is reported",
    "rwmixcycle": "fio has no use for it any more",
    "rate_min": "a rate that is not held is reported, and ends no job",
    "rate_iops_min": "a rate that is not held is reported, and ends no job",
    "rate_cycle": "a rate that is not held is reported, and ends no job",
    "dedupe_mode": "the share of equal blocks is as requested; Assay chooses which",
    "dedupe_working_set_percentage": "the share of equal blocks is as requested; Assay chooses which",
    "dedupe_global": "the share of equal blocks is as requested; Assay chooses which",
    **dict.fromkeys(
        ("latency_window", "latency_percentile", "latency_run"), "they belong to latency_target, which is not supported"
    ),
    "verify_pattern": "written data has Assay's stamps, which verify more than a pattern",
}  # fmt: skip
"""Why each of these does not change the load; a run reports them on standard error."""

_ZONES = "zoned devices are not reached through files"
_DEVICE = "Assay measures through files in a directory; there is no such device there"
_REPLAY = "no list of operations of fio's is read; a load file has scripts (docs/reference/load-file.md)"
_FLOW = "jobs are held at their shares by flow alone; leave it out"
_TRIM = "written data is not trimmed; leave it out"
_HOST = "start Assay itself that way"
_TARGET = (
    "no queue depth is searched for a latency. Leave it out, and compare p99 at several depths:"
    " assay measure DIR --depth 1,2,4,8,16,32"
)

_REFUSED = {
    name: Refused(why, frozenset(usual.split()))
    for names, usual, why in (
        ("exec_prerun exec_postrun", "", "no command is run; do it before and after"),
        (("read_iolog write_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align replay_skip"
         " replay_time_scale merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters"), "0", _REPLAY),
        ("zonemode", "none", "only 'none' is supported; random_distribution=zoned has shares of a range"),
        (("zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits"
         " zone_reset_threshold zone_reset_frequency recover_zbd_write_error write_zone_remainder"), "0", _ZONES),
        (("fdp dataplacement plid_select plids dp_scheme md_per_io_size pi_act pi_chk apptag apptag_mask cmd_type"
         " write_mode verify_mode num_range readfua writefua sg_write_mode"), "0", _DEVICE),
        ("trim_percentage trim_verify_zero trim_backlog trim_backlog_batch", "0", _TRIM),
        ("flow_watermark", "0", _FLOW),
        ("latency_target", "0", _TARGET),
        ("max_latency", "0", "no latency ends a run; the largest is reported"),
                ("rate_ignore_thinktime", "0", "a pause and a rate cannot be combined in a job; give one of them"),
        ("nice", "0", f"{_HOST}: nice -n N assay fio"),
        ("prio prioclass priohint", "0", f"{_HOST}: ionice"),
        ("cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit cmdprio_hint", "0",
         "operations of one job have one priority; give jobs, and start Assay under ionice"),
        ("cgroup cgroup_weight cgroup_nodelete", "0", f"{_HOST}: in that control group"),
        ("uid gid", "", "use --user NAME"),
        ("cpumask", "", "use cpus_allowed"),
        ("numa_mem_policy", "default local bind:0", "memory is where numa_cpu_nodes is; leave it out"),
        ("ioscheduler", "", "a setting of the machine is not changed; set it before"),
        ("lockfile", "none", "no file is locked around each operation"),
        ("opendir", "", "Assay touches only files that it made"),
        ("file_append", "0", "files begin as they were laid out; give an offset"),
        ("bs_unaligned", "0", "sizes are taken as they are given; give bs or bssplit"),
        ("bs_is_seq_rand", "0", "sizes go by direction; give two jobs"),
        ("offset_align", "0", "give an offset that is a multiple of it"),
        ("percentage_sequential", "", "use percentage_random"),
        ("rw_sequencer", "sequential", "sequential offsets need a stride; leave it out"),
        ("sprandom spr_num_regions spr_op spr_cs", "0", "use random_distribution, or overwrite in rounds with loops"),
        ("sync_file_range", "", "use fdatasync=N"),
        ("write_barrier", "0", "use fdatasync=N"),
        ("atomic", "0", "no write asks for RWF_ATOMIC; leave it out"),
        ("write_hint", "none", "no write hint is given; leave it out"),
        ("uncached nowait", "0", "operations go without that flag; leave it out"),
        ("ramp_size", "0", "use ramp_time"),
        ("thinkcycles", "0", "use thinktime_spin"),
        ("thinktime_blocks_type", "complete", "pauses come after N complete operations"),
        ("thinktime_iotime", "0", "use thinktime_blocks"),
        ("pre_read", "0", "use invalidate=0 behind a job that reads the file"),
        ("create_only", "0", "give the files to a job with --runtime=1"),
        ("end_syncfs", "0", "use end_fsync=1, which is a syncfs here"),
        ("unlink_each_loop", "0", "use unlink=1"),
        ("buffer_pattern", "", "use dedupe_percentage and buffer_compress_percentage; content is Assay's"),
        (("verify_policy verifysort verifysort_nr verify_offset verify_pattern_interval"
         " verify_header_seed experimental_verify verify_write_sequence"), "0",
         "content is verified by Assay's own stamps; use verify=crc32c alone"),
        ("verify_interval", "0 512", "each sector of 512 bytes is verified; leave it out"),
        ("verify_backlog_batch", "0", "all written blocks are read back; leave it out"),
        ("verify_only", "0", "what an earlier run left is not verified; use verify and do_verify in one"),
        ("continue_on_error ignore_error", "none 0", "the first error ends its job; leave it out"),
        ("profile", "", "profiles are not supported; give the options"),
        ("gpu_dev_id gpu_dev_ids", "", _DEVICE),
        ("cpuload cpumode cpuchunks exit_on_io_done", "", "it is an option of ioengine=cpuio, which moves no data"),
    )
    for name in names.split()
}  # fmt: skip

HUGE_MEMORY = frozenset({"mmaphuge", "shmhuge"})
"""Values of `mem`, up to a colon, that put buffers into huge pages."""

OPTIONS: Table = {**table(_TAKEN, _NOTED, _REFUSED), "mem": Noted(_MEMORY, but=HUGE_MEMORY)}
"""Of jobs, on the command line or in a job file."""

COMMAND_LINE: Table = {
    **{name: Taken(name) for name in ("output", "output-format", "section", "set", "terse-version", *ALONE)},
    **dict.fromkeys(
        ("eta", "eta-newline", "eta-interval", "status-interval"), Noted("progress is shown as Assay shows it")
    ),
    "max-jobs": Noted("there is no such limit"),
    "alloc-size": Noted("Assay's memory grows as it needs"),
    "warnings-fatal": Noted("unsupported options are refused in any case"),
    "bandwidth-log": Noted("the run has the rate of each interval: assay export"),
    "latency-log": Noted("the run has the latencies of each interval: assay export"),
    "client": Refused("other clients are not reached this way; run Assay on each of them"),
    **dict.fromkeys(("server", "daemonize"), Refused("there is no server of this kind")),
    "remote-config": Refused("other clients are not reached this way"),
    "debug": Refused("the record of a run has all that happened: assay show RUN"),
    "cmdhelp": Refused("see docs/tools/fio.md"),
    "profile": _REFUSED["profile"],
    "idle-prof": Refused("the run has the processor time of each interval"),
    "inflate-log": Refused("Assay writes no logs of that kind"),
    **dict.fromkeys(("trigger-file", "trigger", "trigger-remote", "trigger-timeout"), Refused("no command is run")),
    "cpuclock-test": Refused("each run has what reading the clock takes, clock_read: assay show RUN --json"),
    **dict.fromkeys(("crctest", "dedupetest"), Refused("nothing is measured by it but the processor")),
    "memcpytest": Refused("nothing is measured by it but memory"),
    "aux-path": Refused("Assay writes no such files"),
}
"""Of the command line alone."""

ENGINES_REFUSED = {
    "posixaio": "its threads are not supported; use io_uring or libaio",
    "vsync": "it joins neighbouring requests; use psync",
    "cpuio": "it moves no data; leave the job out",
    "exec": "it runs a command, and none is run; leave the job out",
    "io_uring_cmd": "it sends commands to a device; use io_uring on a file",
    "sg": "it sends commands to a device; use psync on a file",
    "libzbc": "it needs a zoned device; use psync on a file",
    "splice": "use psync",
    "sendfile": "use psync",
    "rdma": "it needs a library and a network; measure a directory that is mounted from there",
    "net": "Assay measures storage; measure a directory that is mounted from there",
    "netsplice": "Assay measures storage; measure a directory that is mounted from there",
    "nfs": "mount the export, and measure the directory",
    "e4defrag": "it moves blocks of a file system; leave the job out",
    "page_fault": "use mmap",
    "dev-dax": "it needs a device; use mmap on a file",
    "libpmem": "it needs a library; use mmap",
    "pmemblk": "it needs a library; use mmap",
}
"""Engines that are not supported, with the nearest alternative; others are unknown."""
_LIBRARIES = frozenset({
    "rbd", "rados", "gfapi", "gfapi_async", "http", "libhdfs", "libiscsi", "nbd", "ime_psync", "ime_psyncv", "ime_aio",
    "dfs", "libcufile", "libhipfile", "xnvme", "libblkio", "mtd", "windowsaio", "solarisaio", "guasi", "external",
    "cpp_null",
})  # fmt: skip
OWN_HARDWARE = _LIBRARIES | {
    "io_uring_cmd", "sg", "libzbc", "rdma", "net", "netsplice", "nfs", "dev-dax", "libpmem", "pmemblk",
}  # fmt: skip
"""Engines that reach nothing on a machine with files alone."""
ENGINES_REFUSED |= dict.fromkeys(_LIBRARIES, "it needs a library or hardware of its own; use psync, libaio or io_uring")
