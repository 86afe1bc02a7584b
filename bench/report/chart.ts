/** Bars with a title. */
export type Panel = {
  readonly title: string;
  readonly bars: readonly { readonly label: string; readonly value: number }[];
};

const WIDTH = 760;
const LABEL_WIDTH = 250;
const NUMBER_WIDTH = 80;
const ROW = 26;
const BAR = 16;
const TITLE = 40;
const FULL = WIDTH - LABEL_WIDTH - NUMBER_WIDTH;

/** A bar chart as SVG with its numbers, for light and dark pages. */
export function chart(description: string, panels: readonly Panel[]): string {
  const lines: string[] = [];
  let y = 0;
  for (const { title, bars } of panels) {
    y += TITLE;
    lines.push(`<text class="title" x="0" y="${y - 12}">${escaped(title)}</text>`);
    const most = Math.max(...bars.map(({ value }) => value));
    for (const { label, value } of bars) {
      const width = Math.max(1, Math.round((FULL * value) / most));
      const middle = y + ROW / 2 + 4;
      const number = Number(value.toPrecision(3)).toLocaleString('en');
      lines.push(
        `<text x="${LABEL_WIDTH - 10}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
        `<rect x="${LABEL_WIDTH}" y="${y + (ROW - BAR) / 2}" width="${width}" height="${BAR}"/>`,
        `<text x="${LABEL_WIDTH + width + 8}" y="${middle}">${number}</text>`,
      );
      y += ROW;
    }
  }
  const style =
    'text{font:13px system-ui,sans-serif;fill:#6b7280}.title{font-weight:600}rect{fill:#2f7ed8}';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 8}" role="img">`,
    `<title>${escaped(description)}</title>`,
    `<style>${style}</style>`,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
