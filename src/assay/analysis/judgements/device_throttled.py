"""Report disks that slowed themselves down because of heat while a run was measured.

An NVMe disk counts how often it went into a state of less power (SMART log, thermal management transitions), and warns of
a temperature beyond a threshold. Read before and after the run, so that it is not known in which phase it was: all of the
run is weak on these disks.
"""

from collections.abc import Iterator

from assay.analysis import findings
from assay.analysis.case import Case
from assay.analysis.device_health import DeviceHealth, format_times, health_of_devices
from assay.results import Finding
from assay.verdicts import ServedBy

_CURE = "Cool the device, or let it rest before the run; the timeline shows when the rate fell."


def judge(case: Case) -> Iterator[Finding]:
    """Judge the disks that an operation works on."""
    targets = case.subject.targets
    if not targets or not case.ops or case.measures is ServedBy.PAGE_CACHE:
        return
    for device in health_of_devices(case.run, *targets):
        if text := _text(device):
            yield findings.weak("device-throttled", text, _CURE, brief="device throttled")


def _text(device: DeviceHealth) -> str:
    at = f" ({device.temperatures})" if device.temperatures else ""
    if times := device.heat_transitions:
        often = format_times(times)
        return f"{device.name} was throttled by heat {often} during the run{at}: its rates may be too low."
    if device.is_warned_of_heat:
        return f"{device.name} warns of a temperature beyond its threshold{at}: heat may have held it back."
    return ""
