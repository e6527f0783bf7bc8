#include "report/style.h"

namespace sg::report {

const char kStyle[] = R"css(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 28px 24px 48px; max-width: 980px; background: #ffffff; color: #1b1d28;
  font: 15px/1.55 "DejaVu Sans", "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 4px; color: #283593; font-size: 29px; line-height: 1.2; }
h1 + p { margin: 0 0 18px; color: #565b73; font-size: 13px; }
h2 { margin: 40px 0 12px; padding-bottom: 5px; border-bottom: 2px solid #283593; color: #283593; font-size: 21px; line-height: 1.3; }
h3 { margin: 24px 0 8px; color: #303f9f; font-size: 16px; }
p { margin: 0 0 12px; }
ul { margin: 0 0 14px; padding-left: 22px; }
.answer { margin: 0 0 8px; }
.answer > p:first-child {
  margin: 0 0 16px; padding: 14px 18px; border-left: 6px solid #283593; border-radius: 4px;
  background: #e8eaf6; font-size: 17px; line-height: 1.5;
}
table { width: 100%; margin: 0 0 16px; border-collapse: collapse; font-size: 13.5px; line-height: 1.4; }
th, td { padding: 7px 10px; border: 1px solid #c3c8e6; text-align: left; vertical-align: top; }
th { background: #283593; color: #ffffff; font-weight: bold; }
tbody tr:nth-child(odd) { background: #e8eaf6; }
tbody tr:nth-child(even) { background: #ffffff; }
th:first-child:nth-last-child(3), th:first-child:nth-last-child(4) { width: 24%; }
th:first-child:nth-last-child(6) { width: 10%; }
th:first-child:nth-last-child(2) { width: 33%; }
th { overflow-wrap: break-word; }
code { padding: 1px 4px; border-radius: 3px; background: #f0f1f7; color: inherit; font: 0.9em/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
td code { padding: 0; background: none; }
pre { margin: 0 0 14px; padding: 12px 14px; border: 1px solid #c3c8e6; border-radius: 4px; background: #f5f6fb; color: #1b1d28; font-size: 13px; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { padding: 0; background: none; font-size: 1em; }
blockquote { margin: 0 0 14px; padding: 8px 14px; border-left: 4px solid #7986cb; background: #f5f6fb; color: #33384f; font-size: 13.5px; }
blockquote p { margin: 0; }
img { display: block; max-width: 100%; height: auto; margin: 6px auto 14px; border: 1px solid #d5d8ea; border-radius: 4px; background: #ffffff; }
.frames { margin: 0 0 14px; }
.frames img { display: inline-block; width: 32%; margin: 0 0.5% 8px 0; vertical-align: top; }
.contents { margin: 14px 0 0; padding: 0; list-style: none; font-size: 13.5px; }
.contents li { display: inline-block; margin: 0 14px 4px 0; }
a { color: #283593; }

@media screen and (max-width: 640px) {
  body { padding: 16px 12px 32px; }
  table { display: block; overflow-x: auto; }
}
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; }
  body { background: #14161f; color: #e3e5f0; }
  h1, h2 { color: #aab4f5; }
  h2 { border-bottom-color: #5c6bc0; }
  h3, a { color: #9fa8da; }
  h1 + p { color: #a3a8c0; }
  .answer > p:first-child { background: #232842; border-left-color: #7986cb; }
  th, td { border-color: #3a4062; }
  tbody tr:nth-child(odd) { background: #232842; }
  tbody tr:nth-child(even) { background: #191c28; }
  code { background: #262a3c; }
  td code, pre code { background: none; }
  pre { background: #191c28; color: #e3e5f0; border-color: #3a4062; }
  blockquote { background: #191c28; color: #c6cadd; border-left-color: #5c6bc0; }
  img { border-color: #3a4062; }
}

@page {
  size: A4; margin: 15mm;
  @bottom-right { content: counter(page) " / " counter(pages); color: #565b73; font: 8pt "DejaVu Sans", sans-serif; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.45; }
  h1 { font-size: 19pt; }
  h2 { margin: 22pt 0 8pt; font-size: 13.5pt; break-after: avoid; }
  h3 { margin: 12pt 0 5pt; font-size: 10.5pt; break-after: avoid; }
  h1 + p { font-size: 8.5pt; }
  .answer > p:first-child { padding: 9pt 12pt; font-size: 11pt; }
  table { font-size: 8.5pt; }
  th, td { padding: 3.5pt 6pt; }
  thead { display: table-header-group; }
  tr, img, blockquote, table, pre { break-inside: avoid; }
  #section-1 + table { break-inside: auto; }
  pre { padding: 7pt 9pt; font-size: 7.8pt; }
  blockquote { font-size: 8.5pt; }
  img { width: 128mm; margin: 4pt auto 8pt; }
  .frames { break-inside: avoid; }
  .frames img { width: 57mm; margin: 0 1.5mm 0 0; }
  .contents { display: none; }
}
)css";

}  // namespace sg::report
