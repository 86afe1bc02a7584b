import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Hono } from 'hono';
import { etag } from 'hono/etag';

type Asset = { readonly file: string | URL; readonly contentType: string };

const ours = (name: string) => new URL(`./assets/${name}`, import.meta.url);

const SCRIPT = 'text/javascript; charset=utf-8';

const FILES = {
  'style.css': { file: ours('style.css'), contentType: 'text/css; charset=utf-8' },
  'icon.svg': { file: ours('icon.svg'), contentType: 'image/svg+xml' },
  'times.js': { file: ours('times.js'), contentType: SCRIPT },
  'notice.js': { file: ours('notice.js'), contentType: SCRIPT },
  'renewal.js': { file: ours('renewal.js'), contentType: SCRIPT },
  'htmx.js': {
    file: createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js'),
    contentType: SCRIPT,
  },
} as const satisfies Record<string, Asset>;

type AssetName = keyof typeof FILES;

/** Read once: they change with the program only. */
const assets = new Map(
  Object.entries<Asset>(FILES).map(([name, { file, contentType }]) => {
    const body = readFileSync(file, 'utf8');
    const version = createHash('sha256').update(body).digest('base64url').slice(0, 16);
    return [name, { body, contentType, version }];
  }),
);

/** Where a page finds one of our files. Another content is at another address. */
export function assetUrl(name: AssetName): string {
  return `/assets/${name}?v=${assets.get(name)?.version}`;
}

const FOR_EVER = 'public, max-age=31536000, immutable';

/** `GET /assets/…`: what pages are made of. Nothing in them is secret. */
export function assetPages(): Hono {
  return new Hono().use(etag()).get('/:name', (context, next) => {
    const asset = assets.get(context.req.param('name'));
    if (asset === undefined) return next();
    const { body, contentType, version } = asset;
    const isOfVersion = context.req.query('v') === version;
    return context.body(body, 200, {
      'Content-Type': contentType,
      'Cache-Control': isOfVersion ? FOR_EVER : 'no-cache',
    });
  });
}
