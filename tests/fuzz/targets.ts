import type { Target } from './fuzz.ts';
import { event } from './targets/event.ts';
import { sessionCookie } from './targets/session-cookie.ts';
import { sessionToken, signedSession } from './targets/session-tokens.ts';
import { stripeSignature } from './targets/stripe-signature.ts';

export const TARGETS: Readonly<Record<string, Target>> = {
  'stripe-signature': stripeSignature,
  'session-cookie': sessionCookie,
  'session-token': sessionToken,
  'signed-session': signedSession,
  event,
};
