// What `gradus bench` found: the step, what it would be on more ranks, and its commands.

function benchHeader(data) {
  const step = data.step, call = data.call, sums = data.sums, host = data.host;
  return [el("p", {class: "muted"}, code(data.graph), ` on ${data.device} (${data.target})` +
      (data.target === "cuda" ? `, ${plural(data.threads, "thread")} of the host` : "") + (data.ranks > 1 ? `, of each of ${data.ranks} ranks` : "")),
  el("dl", {class: "figures"},
    figure("Step by step", duration(step.ms_median / 1e3), `${duration(step.ms_min / 1e3)} at least; ${plural(step.calls, "step")}`),
    figure(`${call.steps} steps in a call`, duration(call.ms_median / 1e3), `${duration(call.ms_min / 1e3)} at least; ${plural(call.calls, "call")}`),
    call.gb_per_s && figure("Memory", `${short(call.gb_per_s, 3)} GB/s`, call.of_bandwidth && percent(call.of_bandwidth) + " of the bandwidth"),
    sums && figure("Sums over ranks", duration(sums.ms_exposed / 1e3) + " exposed",
      `${bytes(sums.bytes_sent)} sent, ${duration(sums.ms_transferred / 1e3)} under way, ${duration(sums.ms_hidden / 1e3)} hidden`),
    host && figure("Host", duration(host.us_median / 1e6), `${duration(host.us_min / 1e6)} at least; ${plural(host.steps, "step")}`),
    data.launches && figure("Launches", data.launches, "of a step"), data.turns && figure("Turns", data.turns, "of a step"))];
}

//===-- more ranks --------------------------------------------------------===//

const networkRate = rate => withUnit(rate, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], " ");

/// The parts of a step beside each other; the longest step of all takes the whole width.
function stepBar(step, most) {
  const parts = [["", step.ms_computed], ["second", step.ms_exposed], ["other", step.ms_added]];
  return el("span", {class: "stack"}, parts.map(([style, time]) =>
    el("span", {class: "bar " + style, style: `width:${(time / most * 100).toFixed(2)}%`})));
}

function predictionSection(data) {
  const all = data.prediction;
  if (!all)
    return null;
  const most = largest(all.steps, step => step.ms_step), network = all.network, rate = all.sum_rate;
  const key = (style, words) => el("span", {}, el("span", {class: "key " + style}), words);
  return section("ranks", "On more ranks", how(`Predicted, each rank with a batch of its own, at ${networkRate(network.bytes_per_s)} and ` +
    `${duration(network.us_latency / 1e6)}; ${all.is_measured_alone ? "one rank alone takes" : "without its sums one of the ranks that ran takes"} ${duration(all.ms_alone / 1e3)}. The commands are those of the slowest rank by ` +
    `the median of ${plural(all.calls, "measured call")}. This machine adds ` + (rate.gb_per_s ? `${short(rate.gb_per_s, 3)} GB a second, and ` +
    `${duration(rate.us_of_each / 1e6)} go to each sum.` : "in no time.")),
  el("div", {class: "legend"}, key("", "computes"), key("second", "waits for sums"), key("other", "adds beside commands")),
  table(["#Ranks", "#Step", "", "#Computes", "#Waits", "#Adds", "#Under way", "#Each sends", "#Slowest", "#Efficiency"], all.steps.map(step =>
    [step.ranks, duration(step.ms_step / 1e3), stepBar(step, most), duration(step.ms_computed / 1e3), duration(step.ms_exposed / 1e3),
      duration(step.ms_added / 1e3), duration(step.ms_transferred / 1e3), bytes(step.bytes_sent), step.slowest.toFixed(2) + "x", percent(step.efficiency)])));
}

//===-- commands ----------------------------------------------------------===//

const variantSection = data => section("variants", "Variants", data.variants && table(["Variant", "#Calls of a step", "#Of a step", "#Share", ""],
  data.variants.map(each => [code(each.graph), each.calls, duration(each.us / 1e6), percent(each.share), bar(each.share)])));

function timedCommands(commands) {
  const most = largest(commands, each => each.share), hasRates = commands.some(each => each.of_peak !== undefined);
  return table(["Command", "Kind", "#Time", "#Share", "", "#FLOP", "#Bytes", "#GB/s", "#GFLOP/s", ...(hasRates ? ["#Of bandwidth", "#Of peak"] : [])],
    commands.map((each, i) => [[`${i} ${each.name}`, el("small", {}, each.nodes.join(" "))], each.kind, duration(each.us / 1e6), percent(each.share), bar(each.share / most),
      count(each.flops), count(each.bytes), short(each.gb_per_s, 3), short(each.gflop_per_s, 3),
      ...(hasRates ? [percent(each.of_bandwidth), percent(each.of_peak)] : [])]));
}

function timedSection(data) {
  const bandwidth = data.bandwidth, peak = data.peak, graphs = [...new Set(data.commands.map(each => each.graph))];
  return section("commands", "Commands in their order", bandwidth && how(`${bandwidth.device}, ${bandwidth.source}: ${short(bandwidth.gb_per_s, 3)} GB/s, ` +
    `${short(peak.gflop_per_s, 3)} GFLOP/s, ${short(peak.product_gflop_per_s, 3)} of matmuls in a library.`),
  graphs.map(graph => [graph && el("h3", {}, code(graph)), timedCommands(data.commands.filter(each => each.graph === graph))]));
}

const benchSections = [predictionSection, variantSection, timedSection];
