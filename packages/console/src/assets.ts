import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Hono } from 'hono';

const SCRIPT = 'text/javascript; charset=utf-8';
const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');

/** The parts of `style.css`, in their order. */
const STYLES = [
  'base',
  'header',
  'panels',
  'tables',
  'notices',
  'forms',
  'lists',
  'charts',
  'print',
];

const CONTENT_TYPES = {
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'times.js': SCRIPT,
  'live.js': SCRIPT,
  'keys.js': SCRIPT,
  'forms.js': SCRIPT,
  'htmx.js': SCRIPT,
} as const;

type AssetName = keyof typeof CONTENT_TYPES;

/** Read once, because they change only with the program. */
const assets = new Map(
  Object.entries(CONTENT_TYPES).map(([name, contentType]) => {
    const body = readAsset(name);
    const version = createHash('sha256').update(body).digest('base64url').slice(0, 16);
    return [name, { body, contentType, version }];
  }),
);

function readAsset(name: string): string {
  if (name === 'htmx.js') return readFileSync(htmx, 'utf8');
  if (name === 'style.css') return STYLES.map((part) => readOurs(`styles/${part}.css`)).join('');
  return readOurs(name);
}

function readOurs(path: string): string {
  return readFileSync(new URL(`./assets/${path}`, import.meta.url), 'utf8');
}

/** The address of a file; it changes with the content. */
export function assetUrl(name: AssetName): string {
  return `/assets/${name}?v=${assets.get(name)?.version}`;
}

const FOREVER = 'public, max-age=31536000, immutable';

/** `GET /assets/…`: public files. */
export function assetPages(): Hono {
  return new Hono().get('/:name', (context, next) => {
    const asset = assets.get(context.req.param('name'));
    if (asset === undefined) return next();
    const { body, contentType } = asset;
    return context.body(body, 200, { 'Content-Type': contentType, 'Cache-Control': FOREVER });
  });
}
