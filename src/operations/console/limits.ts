import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { withDeadline } from '../../runtime/deadline.ts';
import { bodyTooLarge } from './problems.ts';

const MAX_BODY_BYTES = 65_536;

/** Longer than any statement may take, and than whoever waits has patience. */
const DEADLINE_MS = 10_000;

/** No form of ours is larger. */
export const smallBody: MiddlewareHandler = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError() {
    throw bodyTooLarge(MAX_BODY_BYTES);
  },
});

/** Every request is answered in time, if only with the reason why not. */
export const withinDeadline: MiddlewareHandler = async (_, next) => {
  await withDeadline(next(), DEADLINE_MS);
};
