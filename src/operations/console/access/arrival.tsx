import { raw } from 'hono/html';

/**
 * What a link from another site leads to at first. A cookie that is `Strict` comes only with
 * requests from pages of ours, of which this one is: it asks again at once.
 */
export function Arrival() {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta http-equiv="refresh" content="0" />
          <title>Instep</title>
        </head>
        <body>
          <p>One moment.</p>
        </body>
      </html>
    </>
  );
}
