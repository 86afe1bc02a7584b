// Computes how long each path did not answer, and prints that as a table.

/** The longest time without an answer, between two moments. */
export function longestGapMs(answersAtMs, fromMs, untilMs) {
  const within = answersAtMs.filter((atMs) => atMs > fromMs && atMs < untilMs);
  let [last, longestMs] = [fromMs, 0];
  for (const atMs of [...within, untilMs]) {
    longestMs = Math.max(longestMs, atMs - last);
    last = atMs;
  }
  return longestMs;
}

/** For each path, the longest time without an answered event or without an answered profile read. */
export function outagesOf(answers, fromMs, untilMs) {
  return answers.map(({ eventsAtMs, profilesAtMs }) =>
    Math.max(...[eventsAtMs, profilesAtMs].map((atMs) => longestGapMs(atMs, fromMs, untilMs))),
  );
}

export function tableOf(paths, rows) {
  const header = ['fault', 'goal', ...paths];
  const body = rows.map(({ fault, outagesMs }) => [
    fault.name,
    `≤ ${seconds(fault.goalMs)}`,
    ...outagesMs.map((outageMs, index) => {
      if (!isJudged(fault, paths[index])) return `(${seconds(outageMs)})`;
      return outageMs <= fault.goalMs ? seconds(outageMs) : `**${seconds(outageMs)}**`;
    }),
  ]);
  const line = (cells) => `| ${cells.join(' | ')} |\n`;
  return [header, header.map(() => '---'), ...body].map(line).join('');
}

export const isJudged = (fault, path) => fault.paths === undefined || fault.paths.includes(path);

export const isMet = (paths, { fault, outagesMs }) =>
  paths.every((path, index) => !isJudged(fault, path) || outagesMs[index] <= fault.goalMs);

const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
