import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { slug } from 'github-slugger';
import { type DefaultTheme, defineConfig, type MarkdownRenderer } from 'vitepress';
import llmstxt from 'vitepress-plugin-llms';

const PAGES = fileURLToPath(new URL('../pages/', import.meta.url));

/** `owner/name`, which GitHub's workflows set. Without it, no page links to the repository. */
const repository = process.env.GITHUB_REPOSITORY;

/** The path below which the site is served. */
const base = process.env.SITE_BASE ?? '/';

const description =
  "Keeps each team's subscription in sync with Stripe and serves the signed-in user's profile.";

/** A page of the sidebar, with its own heading unless a shorter text fits better. */
function page(path: string, text = headingOf(path)): DefaultTheme.SidebarItem {
  return { text, link: `/${path.replace(/(index)?\.md$/, '')}` };
}

function headingOf(path: string): string {
  const [, heading] = /^# (.+)$/m.exec(readFileSync(`${PAGES}${path}`, 'utf8')) ?? [];
  if (heading === undefined) throw new Error(`${path} has no heading`);
  return heading;
}

/** TypeDoc writes them before the site is built. */
function apiPages(): DefaultTheme.SidebarItem[] {
  const modules = { '': 'instep', operate: 'instep/operate', testing: 'instep/testing' };
  return Object.entries(modules).map(([path, text]) => ({ text, link: `/api/${path}` }));
}

function deployPages(): DefaultTheme.SidebarItem[] {
  const names = readdirSync(`${PAGES}docs/deploy`).filter((name) => name.endsWith('.md'));
  return names
    .filter((name) => name !== 'index.md')
    .sort()
    .map((name) => page(`docs/deploy/${name}`));
}

const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [
      page('README.md', 'Overview'),
      page('docs/start.md'),
      page('docs/connect/nextjs.md', 'Next.js'),
      page('docs/connect/any-server.md', 'Any server'),
      page('docs/connect/functions.md', 'Functions'),
    ],
  },
  {
    text: 'In your app',
    items: [
      page('docs/your-tables.md'),
      page('docs/checkout.md'),
      page('docs/access.md'),
      page('docs/changes.md'),
      page('docs/testing.md'),
    ],
  },
  {
    text: 'Operate',
    items: [
      page('docs/run.md'),
      page('docs/console.md'),
      page('docs/monitor.md'),
      page('docs/repair.md'),
      page('docs/postgres.md'),
      page('docs/performance.md'),
      page('docs/security.md'),
    ],
  },
  { text: 'Deploy', items: deployPages() },
  {
    text: 'Reference',
    items: [
      page('docs/contract.md'),
      { text: 'HTTP', link: '/http' },
      page('docs/configuration.md'),
      page('docs/commands.md'),
      page('docs/errors.md'),
      ...apiPages(),
    ],
  },
  {
    text: 'Project',
    items: [
      page('docs/alternatives.md'),
      page('docs/ARCHITECTURE.md'),
      page('docs/how-it-is-tested.md'),
      page('CHANGELOG.md'),
      page('CONTRIBUTING.md'),
      page('CODE_OF_CONDUCT.md'),
      page('SECURITY.md'),
    ],
  },
];

const linkedFiles = new Set<string>();

/** The links of a page lead to files and folders of the repository. Those that are no pages are served as they are. */
function linkFiles(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('link-files', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(\w+:|#)|\.md(#|$)/.test(href)) continue;
      const path = join(dirname(env.relativePath), href);
      if (!existsSync(`${PAGES}${path}`)) continue;
      if (statSync(`${PAGES}${path}`).isDirectory()) {
        token.attrSet('href', `/${path}/index.md`);
        continue;
      }
      linkedFiles.add(path);
      token.attrSet('href', `${base}${path}`);
      token.attrSet('target', '_self');
    }
  });
}

/** A header cell without text is an ordinary cell, which screen readers do not announce as a header. */
function nameHeaders(tokens: readonly { type: string; tag: string; content: string }[]): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'th_open' || tokens[index + 1]?.content !== '') continue;
    token.tag = 'td';
    const close = tokens[index + 2];
    if (close !== undefined) close.tag = 'td';
  }
}

/** Indented code looks like fenced code, and scrolls like it. */
function fenceCode(tokens: readonly { type: string; info: string }[]): void {
  for (const token of tokens.filter(({ type }) => type === 'code_block')) {
    token.type = 'fence';
    token.info = 'text';
  }
}

/** The component `Diagram` draws the blocks of the language mermaid, in the browser. */
function drawDiagrams(markdown: MarkdownRenderer): void {
  const renderCode = markdown.renderer.rules.fence;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index] ?? { info: '', content: '' };
    if (info !== 'mermaid') return renderCode?.(tokens, index, ...rest) ?? '';
    return `<Diagram source="${encodeURIComponent(content)}" />`;
  };
}

export default defineConfig({
  title: 'Instep',
  description,
  lang: 'en',
  base,
  srcDir: 'pages',
  // TypeDoc's list of the pages that the sidebar lists.
  srcExclude: ['api/README.md'],
  outDir: 'dist',
  cacheDir: 'node_modules/.vitepress',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }]],
  vite: {
    plugins: [llmstxt({ description, ignoreFiles: ['api/**', 'docs/decisions/**'] })],
  },
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // The anchors that GitHub makes, so that links lead to the same headings in both.
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      linkFiles(markdown);
      drawDiagrams(markdown);
      markdown.core.ruler.push('empty-headers', ({ tokens }) => nameHeaders(tokens));
      markdown.core.ruler.push('indented-code', ({ tokens }) => fenceCode(tokens));
    },
  },
  // Links to files that are no pages lead to copies of them.
  buildEnd({ outDir }) {
    for (const path of linkedFiles) cpSync(`${PAGES}${path}`, `${outDir}/${path}`);
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/README' },
      { text: 'Reference', link: '/docs/configuration' },
      { text: 'Operate', link: '/docs/run' },
      { text: 'How it works', link: '/docs/ARCHITECTURE' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    ...(repository === undefined
      ? {}
      : { socialLinks: [{ icon: 'github', link: `https://github.com/${repository}` }] }),
  },
});
