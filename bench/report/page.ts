import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Step } from '../options.ts';

const ROOT = new URL('../../../../', import.meta.url);
const PAGE = fileURLToPath(new URL('docs/performance.md', ROOT));
const README = fileURLToPath(new URL('bench/README.md', ROOT));
const CHART = fileURLToPath(new URL('docs/img/performance.svg', ROOT));

/** The result of a step, in Markdown. */
export type Report = {
  /** What a user of Instep wants to know, for docs/performance.md; `null`: nothing. */
  readonly figures: string | null;
  /** The goals and what else the developers of Instep want to know, for bench/README.md. */
  readonly goals: string;
};

const END = '<!-- end -->';
const beginOf = (section: Step) => `<!-- Written by npm run bench -- ${section}: begin -->`;

/**
 * The page with this text as the section's content. Text outside of sections stays.
 *
 * @throws RangeError when the page has no such section
 */
function withSection(page: string, section: Step, text: string): string {
  const begin = page.indexOf(beginOf(section));
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new RangeError(`the page has no section '${section}'`);
  const from = begin + beginOf(section).length;
  return `${page.slice(0, from)}\n\n${text.trim()}\n\n${page.slice(end)}`;
}

export function writeReport(section: Step, { figures, goals }: Report): void {
  if (figures !== null) {
    writeFileSync(PAGE, withSection(readFileSync(PAGE, 'utf8'), section, figures));
  }
  writeFileSync(README, withSection(readFileSync(README, 'utf8'), section, goals));
}

export function writeChart(svg: string): void {
  mkdirSync(dirname(CHART), { recursive: true });
  writeFileSync(CHART, svg);
}
