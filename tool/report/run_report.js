// Draws the report of a training run, whose data tool/train/run_report.cpp makes.

//===-- figures -----------------------------------------------------------===//

const endings = {"stopped early": "stopped early: its tests found nothing better for too long", interrupted: "interrupted", failed: "ended by an error",
  running: "the run goes on; this page shows it so far"};
const metricText = (name, value) => name === "accuracy" || name.endsWith("_accuracy") || name.endsWith("top5") ? percent(value) : short(value);

function stepsText(run) {
  const first = run.from_step < run.steps ? `Steps ${run.from_step + 1} to ${run.steps} of ${run.to_step}` : `No step; the state is at step ${run.steps}`;
  return first + (run.resumed_from ? `, resumed from ${run.resumed_from}` : "");
}

function runHeader(data) {
  const run = data.run, memory = data.memory;
  const tests = Object.entries(run.test).map(([name, value]) => figure("Test " + name, metricText(name, value), "of the last test"));
  const ran = run.steps - run.from_step;
  return [el("div", {class: "muted"}, stepsText(run) + "; " + run.data_text),
    run.ended === "done" ? null : el("div", {class: run.ended === "failed" ? "bad" : "muted"}, endings[run.ended] + (run.why ? ": " + run.why : "")),
    el("dl", {class: "figures"}, tests, run.best && figure("Best", run.best, "of its tests"),
      figure("Steps", ran, plural(+(run.steps / run.steps_per_epoch).toFixed(2), "epoch") + " in all"),
      run.ms_per_step === null ? null : [figure("Step", duration(run.ms_per_step / 1e3), run.device),
        figure("Throughput", count(run.batch / run.ms_per_step * 1e3), "samples/s within steps")],
      figure("Time", duration(run.seconds), percent(run.seconds ? run.seconds_in_steps / run.seconds : null) + " in steps"),
      figure("Memory", bytes(memory.predicted_bytes), memory.measured_bytes === null ? "as planned" : "planned, " + bytes(memory.measured_bytes) + " measured"))];
}

//===-- curves of the run -------------------------------------------------===//

const curvesOf = (data, of) => data.curves.filter(curve => curve.of === of);

/// Says of a curve what its line cannot show.
function curveNote(curves) {
  const words = curves.flatMap(curve => [
    curve.not_finite ? `${curve.not_finite} of its ${curve.values} values (${curve.of}) are not finite, the first at step ${curve.first_not_finite}.` : "",
    curve.points.length < curve.values - curve.not_finite
      ? `Of ${curve.values} values the least and greatest of every ${curve.width} steps are shown.` : ""]);
  return [...new Set(words.filter(Boolean))].join(" ");
}

function curveSection(data) {
  const names = [...new Set([...curvesOf(data, "step"), ...curvesOf(data, "test")].map(curve => curve.name))];
  const charts = names.map(name => {
    const own = data.curves.filter(curve => curve.name === name && (curve.of === "step" || curve.of === "test"));
    const lines = own.map(curve => ({name: curve.of === "test" ? "test" : "train", points: curve.points, class: curve.of === "test" ? "second" : ""}));
    return lineChart(name.replaceAll("_", " "), lines, curveNote(own));
  });
  const run = data.run;
  return section("curves", "Curves", how("By the number of the step", run.from_step ? `; the page begins after step ${run.from_step}, where the run was continued` : "", "."),
    el("div", {class: "curves"}, charts), names.includes("learning_rate") ? null : el("p", {}, rateWords(data)));
}

/// Says what the learning rate is where no curve shows it.
function rateWords(data) {
  const schedule = data.recipe.schedule, optimizer = data.recipe.optimizer;
  const isNumber = optimizer && typeof optimizer.learning_rate === "number";
  const start = isNumber ? short(optimizer.learning_rate, 6) : "set by who runs the steps";
  return schedule && schedule.learning_rate && schedule.learning_rate.length !== 0
    ? ["The learning rate is ", start, " times its schedule", data.run.schedule && ` (${data.run.schedule})`, ". With ", code("learning_rate"),
      " among the recipe's metrics, its curve stands here."]
    : ["The learning rate is ", start, isNumber ? " at every step." : "."];
}

function epochSection(data) {
  const curves = curvesOf(data, "epoch"), tests = curvesOf(data, "test");
  const steps = [...new Set(curves.concat(tests).flatMap(curve => curve.points.map(p => p[0])))].sort((a, b) => a - b);
  const at = (curve, step) => (curve.points.find(p => p[0] === step) || [])[1];
  const cells = (list, step) => list.map(curve => at(curve, step) === undefined ? "" : curve.name === "ms_per_step"
    ? milliseconds(at(curve, step)) : short(at(curve, step), 5));
  const shown = thinned(steps, 200);
  const standing = {ms_per_step: "ms/step", learning_rate: "learning rate", loss_scale: "loss scale", skipped_steps: "skipped steps"};
  const titles = [...curves.map(curve => "#" + (Object.hasOwn(standing, curve.name) ? standing[curve.name]
    : curve.name.startsWith("loss_scale/") ? "loss scale " + curve.name.slice("loss_scale/".length) : "train " + curve.name)), ...tests.map(curve => "#test " + curve.name)];
  return section("epochs", "Epochs", steps.length > shown.length ? how(`${shown.length} of ${steps.length} lines, at equal distances.`) : null,
    steps.length ? folded([plural(shown.length, "line"), " ", muted("means over the steps of each epoch, and tests")],
      table(["#After step", "#Epoch", ...titles], shown.map(step => [step, +(step / data.run.steps_per_epoch).toFixed(2),
        ...cells(curves, step), ...cells(tests, step)]), "wide"), shown.length <= 40) : null);
}

function speedSection(data) {
  const pieces = curvesOf(data, "piece");
  const lines = pieces.map(curve => ({name: "samples/s", points: curve.points}));
  return section("throughput", "Throughput", pieces.length ? lineChart("Samples a second", lines,
    "Within steps, without reading data, tests and checkpoints; each point is one call of about 50 ms. " + curveNote(pieces)) : null);
}

const stateNames = {parameter: "weights", buffer: "buffers of the model", slot: "optimizer's slots", copy: "copies of weights in another form", scratch: "sums of logical ranks so far"};

function runMemorySection(data) {
  const memory = data.memory;
  const states = memory.states.filter(each => each.role === "parameter" || each.role === "slot" || each.bytes >= 1024).map(each => [stateNames[each.role] || each.role, each.bytes]);
  const rest = memory.state_bytes - states.reduce((sum, each) => sum + each[1], 0);
  const parts = [...states, ["other states, and padding", rest], ["arena: values of a step", memory.arena_bytes],
    ["constants", memory.constant_bytes], ["machine code", memory.code_bytes]];
  const sums = [["planned", memory.predicted_bytes], ["allocated besides when loaded", memory.at_load_bytes],
    [memory.is_of_host ? "measured" : "measured, of the host's memory", memory.measured_bytes]];
  const most = largest(parts.concat(sums), part => part[1] || 0);
  const row = ([name, size]) => [name, size === null ? "not measured" : bytes(size), bar(size / most)];
  return section("memory", "Memory", how("Planned before anything ran. What is measured is the growth of the process since before the artifact was " +
    "loaded, at the end of the run, data and file caches left out."),
  table(["Part", "#Bytes", ""], [...parts.map(row), ...sums.map(each => ({class: "sum", cells: row(each)}))]));
}

//===-- tests -------------------------------------------------------------===//

const classNames = score => score.classes.length ? score.classes : score.recall.map((_, i) => String(i));

/// The matrix with its numbers, each cell as dark as its part of the row.
function numberMatrix(score, names) {
  const sums = score.confusion.map(row => row.reduce((sum, each) => sum + each, 0));
  const head = el("tr", {}, el("th", {scope: "col"}, "label"), names.map(name => el("th", {scope: "col"}, name)));
  const cell = (number, i, j) => el("td", {style: number ? `background:color-mix(in srgb, var(--${i === j ? "accent" : "bad"}) ` +
    `${Math.round(8 + number / sums[i] * 34)}%, transparent)` : null}, number || "");
  return el("div", {class: "scroll"}, el("table", {class: "matrix"}, el("thead", {}, head), el("tbody", {}, score.confusion.map((row, i) =>
    el("tr", {}, el("th", {scope: "row"}, names[i]), row.map((number, j) => cell(number, i, j)))))));
}

function heatMatrix(score, names) {
  const size = score.confusion.length;
  const cells = score.confusion.flatMap((row, i) => {
    const sum = row.reduce((all, each) => all + each, 0);
    return row.map((number, j) => number && svgEl("rect", {x: j, y: i, width: 1, height: 1, class: i === j ? "" : "off", opacity: 0.2 + 0.8 * number / sum},
      svgEl("title", {}, `${names[i]} taken for ${names[j]}: ${number} of ${sum}`))).filter(Boolean);
  });
  return svgEl("svg", {class: "heat", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "Confusion matrix; the tables below have its numbers"}, cells);
}

function classTables(score, names) {
  const wrong = score.confusions.map(each => [names[each.label], names[each.predicted], each.count, percent(each.count / score.counts[each.label])]);
  const rows = score.recall.map((recall, i) => [names[i], score.counts[i], percent(recall), percent(score.precision[i])]);
  return [wrong.length ? [el("h3", {}, "Most frequent confusions"), table(["Label", "Taken for", "#Times", "#Of the label's samples"], wrong)] : null,
    folded(["Each class ", muted(rows.length)], table(["Class", "#Labels", "#Recall", "#Precision"], rows))];
}

function scoreOf(score) {
  if (score.kind === "numbers")
    return table(["Error", "#Value"], [["mean absolute error", short(score.mae, 6)], ["root mean square error", short(score.rmse, 6)], ["R2", short(score.r2, 6)]]);
  const names = classNames(score), size = score.confusion.length;
  return [how("A row for each label, a column for each prediction; the diagonal is right."),
    size === 0 ? how(`The matrix of ${names.length} classes is left out.`) : size <= 20 ? numberMatrix(score, names) : heatMatrix(score, names),
    classTables(score, names)];
}

/// What a sample is and what it was predicted as: classes by `names`, or numbers where there are none.
function sampleWords(sample, names) {
  if (!names)
    return `target ${short(sample.label)}, predicted ${short(sample.predicted)}`;
  if (sample.label === null)
    return "";
  const of = index => names[index] === undefined ? String(index) : names[index];
  return of(sample.label) + (sample.label === sample.predicted ? ", right" : ", taken for " + of(sample.predicted));
}

function sampleFigure(sample, names, by) {
  const words = sampleWords(sample, names);
  return el("figure", {}, el("img", {src: sample.picture, alt: `sample ${sample.sample}: ${words}`, loading: "lazy"}),
    el("figcaption", {}, words, el("small", {}, `${by} ${short(sample.loss)}` + (sample.probability === null ? "" : `, ${percent(sample.probability)} for its label`)),
      el("small", {}, "sample " + sample.sample)));
}

function worstSection(data) {
  const worst = data.worst;
  if (!worst || !worst.samples.length)
    return null;
  const score = data.scores.find(each => each.output === worst.output);
  const names = score && score.kind === "classes" ? classNames(score) : null;
  const of = index => index === null ? "" : !names ? short(index) : names[index] === undefined ? String(index) : names[index];
  const rows = worst.samples.map(each => [each.sample, short(each.loss, 5), of(each.label), of(each.predicted), each.probability === null ? "" : percent(each.probability)]);
  const list = table(["#Sample", "#" + worst.by, "Label", names ? "Taken for" : "Predicted", "#Probability of the label"], rows);
  const hasPictures = worst.samples.every(each => each.picture);
  return section("worst", "Worst samples of the test data", how(`By the ${worst.by} of each, the greatest first. Samples are counted from 0` +
    (worst.of_part ? ", in the order in which the part of --validation is tested." : ", as in the file.") +
    (hasPictures ? " Each picture spans its own range of values, as the model sees them." : "")),
  hasPictures ? [el("div", {class: "gallery"}, worst.samples.map(each => sampleFigure(each, names, worst.by))), asText(list)] : list);
}

const testSection = data => section("test", "Test", data.scores.map(score => [data.scores.length > 1 && el("h3", {}, score.output), scoreOf(score)]),
  data.scores_words && how(data.scores_words));

//===-- facts -------------------------------------------------------------===//

function factSection(data) {
  const run = data.run;
  const rows = [["artifact", `${run.artifact} (${bytes(run.artifact_bytes)})`], ["checkpoint", run.checkpoint || "none"],
    ["resumed from", run.resumed_from], ["data", run.data_text], ["test data", run.test_data_text], ["seed", run.seed],
    ["batch", run.batch], ["training samples", run.training_samples], ["test samples", run.test_samples], ["schedule", run.schedule],
    ["device", run.device], ["made with", data.producer]];
  return section("facts", "The run", el("pre", {class: "wrapped"}, run.command),
    table(["Fact", "Value"], rows.filter(row => row[1] !== "" && row[1] !== null)));
}

const warningSection = data => section("warnings", "Warnings", data.warnings.length
  ? el("ul", {class: "remarks"}, data.warnings.map(each => el("li", {class: each.kind === "warning" ? "left" : "note"}, el("b", {}, each.kind), " ", each.text))) : null,
data.warnings_left_out ? how(`${data.warnings_left_out} more were printed.`) : null);

const runSections = [warningSection, curveSection, epochSection, testSection, worstSection, speedSection, runMemorySection, factSection,
  data => recipeSection(data.recipe, "As trained with, with all defaults and the numbers that were set.")];
