// Draws the report of a compilation, whose data compile_report.cpp makes.

//===-- charts of the program ---------------------------------------------===//

const rectangle = (x, y, width, height, style, title) => svgEl("rect", {x: x.toFixed(2), y: y.toFixed(2),
  width: width.toFixed(2), height: height.toFixed(2), class: style}, title && svgEl("title", {}, title));
const canvas = (height, label, ...content) => svgEl("svg", {viewBox: "0 0 1000 " + height, preserveAspectRatio: "none",
  style: `height:${height}px`, role: "img", "aria-label": label}, content);
const edges = (left, right, top) => el("div", {class: "axis" + (top ? " top" : "")}, el("span", {}, left), el("span", {}, right));

/// The shade of variant i of n; if there are many, those after the first share the other shades.
const shade = (i, n) => "v" + (n <= 6 || i === 0 ? i : 1 + Math.floor((i - 1) * 4 / (n - 2)));

function memoryChart(graph, arena) {
  const commands = Math.max(1, graph.live_bytes.length), most = Math.max(1, arena);
  const x = command => command / commands * 1000, y = (byte, height) => height - byte / most * height;
  const line = height => svgEl("line", {x1: x(graph.peak_command + 0.5), x2: x(graph.peak_command + 0.5), y1: 0, y2: height, class: "peak"});
  const area = graph.live_bytes.map((live, i) => "V" + y(live, 130).toFixed(2) + "H" + x(i + 1).toFixed(2)).join("");
  const buffers = graph.map.filter(each => each.region === "arena").map(each => {
    const top = y(each.offset + each.size, 230), isLive = each.first <= graph.peak_command && each.last >= graph.peak_command;
    return rectangle(x(each.first), top, Math.min(x(each.last + 1), 1000) - x(each.first), y(each.offset, 230) - top,
      isLive ? "buffer live" : "buffer", `${each.use}\n${each.type}, ${bytes(each.size)}\ncommands ${each.first} to ${each.last}`);
  });
  return [edges(bytes(arena), "in use", true),
    el("div", {class: "chart"}, canvas(130, "Bytes in use at each command, at most " + bytes(graph.peak_bytes) + " at command " +
      graph.peak_command, svgEl("path", {d: "M0 130" + area + "V130Z", class: "area"}), line(130))),
    edges(bytes(arena), "addresses", true),
    el("div", {class: "chart"}, canvas(230, "Which buffer lies where, at each command; the table below has the largest", buffers, line(230))),
    edges("command 0", "command " + Math.max(0, graph.live_bytes.length - 1))];
}

function shareBar(shares) {
  let left = 0;
  return canvas(18, "Share of the steps of each variant: " + shares.map(percent).join(", "), shares.map((share, i) => {
    left += share * 1000;
    return rectangle(left - share * 1000, 0, share * 1000, 18, shade(i, shares.length));
  }));
}

const stepStrip = (steps, variants) => canvas(18, "Variant of each of the first steps: " + steps.join(" "),
  steps.map((variant, i) => rectangle(i * 1000 / steps.length, 0, 1000 / steps.length, 18, shade(variant, variants))));

//===-- names of the model ------------------------------------------------===//

/// The modules of the model that nodes belong to, each once; a node without one stands there itself.
const modulesOf = (nodes, modules) => [...new Set(nodes.map(node => Object.hasOwn(modules, node) ? modules[node] : node))];

/// The first and last of many modules; the tooltip has all, and the nodes.
function nodeNames(nodes, modules) {
  const names = modulesOf(nodes, modules);
  const shown = names.length > 3 ? [names[0], "...", names[names.length - 1]] : names;
  return nodes.length ? el("span", {class: "muted", title: names.join(" ") + "\nnodes: " + nodes.join(" ")}, shown.join(" ")) : null;
}

//===-- report of a compilation -------------------------------------------===//

const stepOf = plan => named(plan.graphs, "train") || plan.graphs[0];
const forEachPlan = (data, part) => data.artifact.plans.map(plan =>
  [data.artifact.plans.length > 1 && el("h3", {}, "plan " + plan.target), part(plan)]);
const scheduleOf = data => data.schedules.find(each => each.graph === stepOf(data.artifact.plans[0]).name);
const deviceColumns = (plan, unit) => plan.rates.map(rate => "#" + (rate.title || "Expected") + " " + unit);

function keyOf(schedule, graph) {
  const i = schedule ? schedule.variants.indexOf(graph) : -1;
  return i < 0 ? null : el("span", {class: "key " + shade(i, schedule.variants.length)});
}

/// The step and its variants in their order, then the other graphs.
function inOrder(plan, schedule) {
  const variants = schedule ? schedule.variants.map(name => named(plan.graphs, name)).filter(Boolean) : [];
  return [...new Set([stepOf(plan), ...variants, ...plan.graphs])];
}

function planFigures(plan, of) {
  const step = stepOf(plan), bound = Math.max(1, plan.bound_bytes);
  const times = plan.rates.map((rate, i) => figure(rate.title ? "Expected, " + rate.title : "Expected time",
    duration(step.expected_ms[i] / 1e3), rate.title ? "at least, by its data sheet" : "estimated, not measured"));
  return [figure("Step" + of, flop(step.flops), step.commands.length + " commands"), times,
    figure("Arena" + of, bytes(plan.arena_bytes), (plan.arena_bytes / bound).toFixed(3) + " x bound")];
}

function compileHeader(data) {
  const artifact = data.artifact, plans = artifact.plans, step = stepOf(plans[0]);
  const after = data.passes[data.passes.length - 1].after;
  const targets = plans.map(plan => plan.target + (plan.images.length ? "" : `, planned for ${plan.threads} threads`));
  const ports = list => list.map(port => port.name + " " + port.type).join(", ");
  return [el("div", {class: "muted"}, data.model + " for " + targets.join("; ") + (artifact.deterministic ? ", deterministic" : "") +
    (artifact.logical_ranks ? `, ${artifact.logical_ranks} logical ranks` : "")),
    el("div", {class: "muted mono"}, `${step.name}(${ports(step.inputs)}) → ${ports(step.outputs)}`),
    el("dl", {class: "figures"}, plans.map(plan => planFigures(plan, plans.length > 1 ? ", " + plan.target : "")),
      figure("State", bytes(plans[0].state_bytes), artifact.states.length + " tensors"),
      figure("Parameters", count(after.parameter_elements), after.parameters + " tensors"),
      figure("Artifact", bytes(artifact.bytes), `${bytes(artifact.weights_bytes)} of it initial weights` + (artifact.program ? `, ${bytes(artifact.program.bytes)} its program` : "")),
      figure("Compiled in", duration(data.compile_ms / 1e3), data.passes.length + " passes"))];
}

function costTable(plan, schedule) {
  const most = largest(plan.graphs, graph => graph.expected_ms[0] || 0), isTimed = plan.rates.length > 0;
  const share = name => schedule && schedule.shares.length && schedule.variants.includes(name)
    ? percent(schedule.shares[schedule.variants.indexOf(name)]) : "";
  const times = ms => [...ms.map(milliseconds), ...(isTimed ? [bar(ms[0] / most)] : [])];
  const rows = inOrder(plan, schedule).map(graph => [[keyOf(schedule, graph.name), code(graph.name)], ...times(graph.expected_ms),
    share(graph.name), count(graph.flops), count(graph.bytes), bytes(graph.peak_bytes), graph.commands.length]);
  if (schedule && schedule.shares.length) {
    const mean = cost => schedule.variants.reduce((sum, name, i) => sum + schedule.shares[i] * cost(named(plan.graphs, name)), 0);
    rows.push({class: "sum", cells: ["mean of the schedule", ...times(plan.rates.map((_, i) => mean(graph => graph.expected_ms[i]))),
      "", count(mean(graph => graph.flops)), count(mean(graph => graph.bytes)), "", ""]});
  }
  return table(["Graph", ...deviceColumns(plan, "ms"), ...(isTimed ? [""] : []), "#Share of steps", "#FLOP", "#Bytes",
    "#Peak memory", "#Commands"], rows);
}

function librariesText(plan) {
  const epilogues = each => Object.entries(each.epilogues).map(([name, number]) => `, ${number} with ${name}`).join("");
  const text = plan.libraries.map(each => `${each.name} (${plural(each.different_calls, "different call")}${epilogues(each)})`).join(", ");
  return text && "Libraries: " + text + ". ";
}

function rateTable(plan) {
  const rows = plan.rates.map(rate => [rate.title || rate.device, count(rate.flop_per_s), count(rate.product_flop_per_s),
    count(rate.bytes_per_s), rate.threads || "", rate.source]);
  return rows.length ? folded(muted("Rates that times are expected by"),
    table(["Device", "#FLOP/s", "#FLOP/s of matmuls", "#Bytes/s", "#Threads", "Source"], rows)) : null;
}

function imageTable(plan) {
  const rows = plan.images.flatMap(image => [
    {section: `${image.architecture || image.kind} (${image.kind}), ${bytes(image.bytes)}`},
    ...image.kernels.map(kernel => [code(kernel.name), kernel.threads, kernel.registers, bytes(kernel.shared_bytes),
      bytes(kernel.spilled_bytes), bytes(kernel.stack_bytes)])]);
  return rows.length ? folded(muted("GPU code"), table(["Kernel", "#Threads", "#Registers", "#Shared", "#Spilled", "#Stack"], rows)) : null;
}

const costSection = data => section("cost", "Cost of each graph", forEachPlan(data, plan => [costTable(plan, scheduleOf(data)),
  how(plan.how ? plan.how + ". " : "", librariesText(plan), code("gradus bench"), " measures."), rateTable(plan), imageTable(plan)]));

function rateText(data) {
  const points = data.learning_rate, run = data.learning_rate_of_run;
  if (!points.length)
    return el("p", {}, "The learning rate is set by who runs the steps.");
  if (points.length === 1)
    return el("p", {}, `The learning rate is ${short(points[0][1], 6)} at every step.`);
  return [el("p", {}, "Learning rate of the optimizer, by the step counter.", run && ` Its schedule awaits the length of the run: this is one of ${run}.`),
    lineChart("Learning rate", [{name: "learning rate", points}])];
}

function variantsText(schedule) {
  const changes = schedule.changes.map(change => {
    const name = schedule.variants[change.variant];
    return [change.step, [keyOf(schedule, name), code(name)]];
  });
  return [el("p", {}, `Which of ${schedule.variants.length} variants of `, code(schedule.graph), " runs is a function of the step."),
    schedule.shares.length ? [how(`Shares of the steps; the schedule begins again after ${schedule.period}:`),
      el("div", {class: "strip"}, shareBar(schedule.shares))] : null,
    changes.length ? table(["#From step", "Variant"], changes)
      : schedule.first.length ? [how(`The first ${schedule.first.length} steps, a cell each:`),
        el("div", {class: "strip"}, stepStrip(schedule.first, schedule.variants.length))] : null];
}

const scheduleSection = data => section("schedule", "Schedule", rateText(data), data.schedules.length
  ? data.schedules.map(variantsText) : el("p", {}, "Every step is the same graph."));

function liveTable(step, modules) {
  const live = step.map.filter(each => each.region === "arena" && each.first <= step.peak_command && each.last >= step.peak_command)
    .sort((a, b) => b.size - a.size || a.offset - b.offset);
  const peak = Math.max(1, step.peak_bytes);
  const nodes = each => {
    const command = step.commands[each.first];
    return command && command.name === each.use ? [" ", nodeNames(command.nodes, modules)] : null;
  };
  const rows = live.slice(0, 12).map(each => [[each.use, nodes(each)], bytes(each.size), bar(each.size / peak), code(each.type), each.first, each.last]);
  const rest = live.slice(12).reduce((sum, each) => sum + each.size, 0);
  if (live.length > 12)
    rows.push([`and ${live.length - 12} more`, bytes(rest), bar(rest / peak), "", "", ""]);
  return table(["Live at the peak", "#Bytes", "", "Type", "#From", "#To"], rows);
}

function memoryOf(plan, data) {
  const step = stepOf(plan), command = step.commands[step.peak_command];
  return [el("p", {}, "A step of ", code(step.name), ` uses at most ${bytes(step.peak_bytes)} of the arena`,
    command ? [` at command ${step.peak_command} of ${step.commands.length}, `, code(command.name)] : null,
    `; the liveness bound is ${bytes(step.bound_bytes)}. Beside it lie ${bytes(plan.state_bytes)} of state (parameters, optimizer, counters), ` +
    `${bytes(plan.constant_bytes)} of constants and ${bytes(plan.code_bytes)} of machine code: ${bytes(plan.predicted_bytes)} in all.`),
  memoryChart(step, plan.arena_bytes),
  how("Above the bytes in use, below where each buffer lies and for how long; in colour what is live at the peak."),
  liveTable(step, data.modules)];
}

const memorySection = data => section("memory", "Memory over the step", forEachPlan(data, plan => memoryOf(plan, data)),
  folded(["States ", muted(data.artifact.states.length)], table(["State", "Type", "#Bytes", "Role"],
    data.artifact.states.map(state => [state.name, code(state.type), bytes(state.bytes), state.role]))));

function change(before, after, shown) {
  const was = shown(before), now = shown(after);
  return was === now ? el("span", {class: "same"}, now) : [el("span", {class: "was"}, was + " → "), el("span", {class: "now"}, now)];
}

function passRow(pass) {
  const none = {ops: 0, flops: 0, bytes: 0};
  const graphOf = counts => named(counts.graphs, "train") || named(counts.graphs, "predict") || counts.graphs[0] || none;
  const was = graphOf(pass.before), now = graphOf(pass.after);
  return [code(pass.pass), change(pass.before.graphs.length, pass.after.graphs.length, String), change(was.ops, now.ops, String),
    change(was.flops, now.flops, count), change(was.bytes, now.bytes, bytes),
    change(pass.before.parameter_elements, pass.after.parameter_elements, count),
    change(pass.before.state_bytes, pass.after.state_bytes, bytes), pass.ms.toFixed(2),
    pass.remarks ? el("a", {href: "#remarks-" + pass.pass}, pass.remarks) : ""];
}

function passSection(data) {
  const rows = data.passes.flatMap((pass, i) => (i && data.passes[i - 1].stage === pass.stage ? [] : [{section: pass.stage}]).concat([passRow(pass)]));
  return section("passes", "Passes", how("In the order in which they ran, under the stages of the pipeline. Ops, FLOP and the bytes of all values " +
    "are those of the step ", code("train"), ", and of the model before there is one."),
  table(["Pass", "#Graphs", "#Ops", "#FLOP", "#Bytes of values", "#Parameters", "#State", "#ms", "#Remarks"], rows, "wide"));
}

/// The places of a remark as modules, `node "/conv1/Conv"` as "conv1", and how often it was made.
function placesText(remark, modules) {
  const names = modulesOf(remark.places.map(place => (/^node "(.*)"$/.exec(place) || ["", place])[1]), modules);
  const parts = [names.slice(0, 6).join(", ") + (names.length > 6 ? ` and ${names.length - 6} more` : "")];
  if (remark.count > 1)
    parts.push(remark.count + " times");
  return parts.filter(Boolean).length ? [" ", el("span", {class: "muted", title: remark.places.join(" ")}, parts.filter(Boolean).join(", "))] : null;
}

function remarkSection(data) {
  const lists = [...new Set(data.remarks.map(remark => remark.pass))].map(pass => {
    const own = data.remarks.filter(remark => remark.pass === pass);
    const items = own.map(remark => el("li", {class: remark.kind}, el("b", {title: remark.name}, remark.kind), " ", remark.text,
      placesText(remark, data.modules)));
    const number = own.reduce((sum, remark) => sum + remark.count, 0);
    return el("div", {id: "remarks-" + pass}, folded([code(pass), " ", muted(number)], el("ul", {class: "remarks"}, items), own.length <= 12));
  });
  return section("remarks", "Remarks", lists.length ? how(el("b", {}, "done"), ": what a pass did; ", el("b", {}, "left"),
    ": what it found and left alone, with the reason.") : el("p", {}, "No pass had anything to say."), lists);
}

/// What a library's call is, and what else a command has: small words below its name.
function commandWords(command) {
  const words = [command.call, command.scratch_bytes ? bytes(command.scratch_bytes) + " of scratch" : "",
    command.operations ? count(command.operations) + " operations" : "",
    ...(command.choices || []).map(choice => `${choice.card}: ${choice.library} ${choice.algorithm}`)].filter(Boolean);
  return words.length ? el("small", {}, words.join(" · ")) : null;
}

function commandTable(plan, graph, modules) {
  const most = largest(graph.commands, command => command.expected_us[0] || 0), isTimed = plan.rates.length > 0;
  return table(["Command", "Kind", "Modules", ...deviceColumns(plan, "us"), ...(isTimed ? [""] : []), "#FLOP", "#Bytes", "#Live"],
    graph.commands.map((command, i) => ({class: i === graph.peak_command ? "peak" : null, cells: [[`${i} `, command.name, commandWords(command)],
      command.kind, nodeNames(command.nodes, modules), ...command.expected_us.map(us => us.toFixed(1)),
      ...(isTimed ? [bar(command.expected_us[0] / most)] : []), count(command.flops), count(command.bytes), bytes(graph.live_bytes[i])]})));
}

const commandSection = data => section("commands", "Commands in their order", forEachPlan(data, plan =>
  inOrder(plan, scheduleOf(data)).map(graph => folded([code(graph.name), " ", muted(graph.commands.length + " commands")],
    commandTable(plan, graph, data.modules), graph === stepOf(plan)))));

const recipeSection = (recipe, words) => section("recipe", "Recipe", el("p", {}, words), el("pre", {}, JSON.stringify(recipe, null, 2)));

const compileSections = [costSection, scheduleSection, memorySection, passSection, remarkSection, commandSection,
  data => recipeSection(data.artifact.recipe, "As compiled, with all defaults.")];
