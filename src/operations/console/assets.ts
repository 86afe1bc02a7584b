import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Hono } from 'hono';
import { etag } from 'hono/etag';

const SCRIPT = 'text/javascript; charset=utf-8';
const ours = (name: string) => new URL(`./assets/${name}`, import.meta.url);
const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');

const CONTENT_TYPES = {
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'times.js': SCRIPT,
  'live.js': SCRIPT,
  'keys.js': SCRIPT,
  'crosshair.js': SCRIPT,
  'htmx.js': SCRIPT,
} as const;

type AssetName = keyof typeof CONTENT_TYPES;

/** Read once, because they change only with the program. */
const assets = new Map(
  Object.entries(CONTENT_TYPES).map(([name, contentType]) => {
    const body = readFileSync(name === 'htmx.js' ? htmx : ours(name), 'utf8');
    const version = createHash('sha256').update(body).digest('base64url').slice(0, 16);
    return [name, { body, contentType, version }];
  }),
);

/** The address of a file; it changes with the content. */
export function assetUrl(name: AssetName): string {
  return `/assets/${name}?v=${assets.get(name)?.version}`;
}

const FOREVER = 'public, max-age=31536000, immutable';

/** `GET /assets/…`: public files. */
export function assetPages(): Hono {
  return new Hono().use(etag()).get('/:name', (context, next) => {
    const asset = assets.get(context.req.param('name'));
    if (asset === undefined) return next();
    const { body, contentType, version } = asset;
    const isCurrent = context.req.query('v') === version;
    return context.body(body, 200, {
      'Content-Type': contentType,
      'Cache-Control': isCurrent ? FOREVER : 'no-cache',
    });
  });
}
