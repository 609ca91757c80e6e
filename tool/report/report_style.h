// The style sheet of a report, light and dark, for screens of any width and for
// paper.

#pragma once

namespace gradus::cli {

inline constexpr const char *kReportStyle = R"css(
:root { color-scheme: light dark;
  --ink: #1c2127; --muted: #5f6973; --faint: #98a1aa; --line: #dfe3e7; --paper: #ffffff; --panel: #f5f7f8;
  --accent: #1d5f9e; --area: #1d5f9e2e; --other: #c9d0d6; --left: #8a5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #dfe4e8; --muted: #97a1ab; --faint: #6d7781; --line: #2c333a; --paper: #101418; --panel: #181d22;
  --accent: #79b4ea; --area: #79b4ea38; --other: #39424b; --left: #d9a441; --bad: #f2867c; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 30px; line-height: 1.15; font-weight: 650; letter-spacing: -.01em; margin: 2px 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 19px; font-weight: 620; margin: 0 0 4px; }
h3 { font-size: 15px; font-weight: 600; margin: 22px 0 4px; }
section { margin-top: 52px; }
p { margin: 4px 0 12px; max-width: 76ch; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.kicker { color: var(--accent); font-weight: 600; letter-spacing: .02em; }
.muted, p.how, caption { color: var(--muted); } p.how { font-size: 13.5px; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-top: 16px; font-size: 14px; }
code, pre, .mono { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9em; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(136px, 1fr)); gap: 1px; margin: 26px 0 0;
  background: var(--line); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.figures div { background: var(--paper); padding: 12px 14px; }
.figures dt { color: var(--muted); font-size: 13px; } .figures dd { margin: 0; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures small { display: block; color: var(--muted); font-size: 12.5px; font-weight: 400; }
.scroll { overflow-x: auto; margin: 10px 0 14px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--muted); font-size: 13px; border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; } .n { text-align: right; white-space: nowrap; }
tr.section th { color: var(--ink); font-weight: 620; padding-top: 18px; } tr.sum td { font-weight: 600; border-bottom: 0; }
tr.peak td { background: var(--area); }
.was { color: var(--faint); } .same { color: var(--faint); } .now { font-weight: 600; }
td code, td .key { white-space: nowrap; } td:first-child:has(.key) { white-space: nowrap; }
td:has(> .bar) { width: 24%; min-width: 90px; }
.bar { display: inline-block; height: 9px; background: var(--accent); border-radius: 1px; vertical-align: baseline; min-width: 1px; }
.chart { border-bottom: 1px solid var(--line); background: var(--panel); margin-top: 2px; }
.chart svg, .strip svg { display: block; width: 100%; }
.axis { display: flex; justify-content: space-between; font-size: 12.5px; color: var(--muted); margin-top: 3px; } .axis.top { margin-top: 12px; }
svg .area { fill: var(--area); stroke: var(--accent); stroke-width: 1.4; vector-effect: non-scaling-stroke; }
svg .line { fill: none; stroke: var(--accent); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
svg .peak { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
svg .buffer { fill: var(--other); stroke: var(--panel); stroke-width: .6; vector-effect: non-scaling-stroke; } svg .buffer.live { fill: var(--accent); }
svg .buffer:hover { fill: var(--left); }
.strip { margin: 10px 0 2px; }
.v0 { fill: var(--accent); background: var(--accent); } .v1, .v2, .v3, .v4, .v5 { fill: var(--accent); background: var(--accent); }
.v1 { opacity: .74; } .v2 { opacity: .56; } .v3 { opacity: .4; } .v4 { opacity: .27; } .v5 { opacity: .16; }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 7px; vertical-align: -1px; }
details { border-top: 1px solid var(--line); padding: 7px 0; }
summary { cursor: pointer; } summary::marker { color: var(--faint); } summary .muted { font-size: 13.5px; }
ul.remarks { list-style: none; margin: 6px 0 6px; padding: 0; font-size: 14px; }
ul.remarks li { padding: 2px 0 2px 54px; position: relative; overflow-wrap: anywhere; } ul.remarks b { position: absolute; left: 14px; font-weight: 500; font-size: 13px; color: var(--accent); }
ul.remarks .left b { color: var(--left); } ul.remarks .failed b { color: var(--bad); } ul.remarks .note b { color: var(--muted); }
pre { background: var(--panel); border-radius: 8px; padding: 14px 16px; overflow-x: auto; font-size: 13px; line-height: 1.45; }
footer { margin-top: 56px; color: var(--muted); font-size: 13px; border-top: 1px solid var(--line); padding-top: 12px; }
@media (max-width: 640px) { main { padding: 24px 16px 48px; } h1 { font-size: 25px; } section { margin-top: 40px; } .figures { grid-template-columns: 1fr 1fr; } }
@media print { main { max-width: none; } details { break-inside: avoid; } nav { display: none; } }
)css";

} // namespace gradus::cli
