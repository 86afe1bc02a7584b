import type { MiddlewareHandler } from 'hono';
import { useRequestContext } from 'hono/jsx-renderer';
import type { ConsoleUser, Mode, OperateContext, Operator } from 'instep-operate';

/** Who sent the request, and how we know. */
type Requester = ConsoleUser & {
  /** A `visitor` has not logged in and sees nothing but the login. A `user` is one of the app that the console is mounted in. */
  readonly kind: 'visitor' | 'local' | 'session' | 'bearer' | 'user';
};

export type ConsoleEnv = {
  Bindings: {
    /** The user of the app, where the console is mounted in one. */
    user?: ConsoleUser;
  };
  Variables: {
    requester: Requester;
    /** For links to Stripe's dashboard: the mode of the API key, or of the event that is shown. */
    mode: Mode | null;
    /** The time of the request. */
    nowMs: number;
  };
};

/** Who acts, for the audit. */
export function operatorOf({ requester: { name } }: ConsoleEnv['Variables']): Operator {
  return { name, how: 'console' };
}

/** Whether a user can change something and see personal data. A viewer sees no form, since each would get a 403. */
export function canAct({ requester } = currentRequest()): boolean {
  return requester.role === 'operator';
}

type Clock = Pick<OperateContext, 'keyMode' | 'now'>;

/** Every request starts as a visitor's. */
export function asVisitor({ keyMode, now }: Clock): MiddlewareHandler<ConsoleEnv> {
  return async (context, next) => {
    context.set('requester', { kind: 'visitor', name: 'visitor', role: 'viewer' });
    context.set('mode', keyMode);
    context.set('nowMs', now());
    await next();
  };
}

/** The data of the current request, so that components need not pass it on. */
export function currentRequest() {
  return useRequestContext<ConsoleEnv>().var;
}
