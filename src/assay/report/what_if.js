// What if: the arithmetic of src/assay/sizing (queueing.py, raid.py, candidate.py), for other values of the same sizing.
"use strict";
(() => {
  const box = document.getElementById("what-if");
  if (!box) return;
  const { disks, levels, spares_per } = JSON.parse(document.getElementById("what-if-data").textContent);
  const value = (name) => Number(box.querySelector(`[name=${name}]`).value);
  const chosen = (name, list) => list[box.querySelector(`[name=${name}]`).selectedIndex];
  // M/M/1 with the waiting part times (ca2 + 1) / 2: R = s + w s x / (1 - x), x = rate s.
  const rateAt = (latency, service, burstiness) => {
    if (latency <= service) return 0;
    const weight = (burstiness + 1) / 2;
    const waiting = latency / service - 1;
    return waiting / (waiting + weight) / service;
  };
  const update = () => {
    const disk = chosen("disk", disks);
    const level = chosen("raid", levels);
    const front = value("iops") / (1 - value("headroom") / 100);
    const writes = front * (value("writes") / 100);
    const back = front - writes + level.penalty * writes;
    const rate = rateAt(value("latency") / 1000, disk.service_s, disk.burstiness);
    let count = Math.ceil((back / rate) * (1 - 1e-12));
    count = Math.max(count, level.least);
    count = Math.ceil(count / level.unit) * level.unit;
    const busy = (back * disk.service_s) / count;
    const answer = box.querySelector("output");
    const spares = Math.max(1, Math.ceil(count / spares_per));
    answer.dataset.disks = Number.isFinite(count) ? String(count) : "none";
    answer.textContent = Number.isFinite(count)
      ? `${count.toLocaleString("en")} disks and ${spares} ${spares === 1 ? "spare" : "spares"}, ${(100 * busy).toFixed(1)} % busy`
      : "No number of these disks answers in that time.";
    for (const slider of box.querySelectorAll("input")) {
      slider.parentElement.querySelector("b").textContent = `${Number(slider.value).toLocaleString("en")} ${slider.dataset.unit}`;
    }
  };
  box.addEventListener("input", update);
  update();
})();
