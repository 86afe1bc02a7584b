import { Hono } from 'hono';
import type { CheckToken, Logger } from 'instep-operate';
import { Button, Field, PostForm } from '../components/form.tsx';
import { LOGOUT_PATH, Page } from '../page.tsx';
import { ownPath } from '../query-parameters.ts';
import type { ConsoleEnv } from '../request-context.ts';
import type { CookieSessions } from './cookie-sessions.ts';

export const LOGIN_PATH = '/login';

export type LoginOptions = {
  readonly checkToken: CheckToken;
  readonly sessions: CookieSessions;
  readonly logger: Logger;
};

/** `/login` and `/logout`. */
export function loginPages({ checkToken, sessions, logger }: LoginOptions): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();
  app.get(LOGIN_PATH, (context) => {
    const next = ownPath(context.req.query('next'));
    if (context.var.requester.kind !== 'visitor') return context.redirect(next, 303);
    return context.render(<LoginPage next={next} />);
  });
  app.post(LOGIN_PATH, async (context) => {
    const { token, next: wanted } = await context.req.parseBody();
    const next = ownPath(wanted);
    const holder = typeof token === 'string' ? checkToken(token.trim()) : null;
    if (holder === null) {
      context.status(401);
      return context.render(<LoginPage next={next} error="Wrong token." />);
    }
    await sessions.begin(context, holder.name);
    logger.info({ operator: holder.name }, 'operator logged in');
    return context.redirect(next, 303);
  });
  app.post(LOGOUT_PATH, (context) => {
    sessions.end(context);
    logger.info({ operator: context.var.requester.name }, 'operator logged out');
    return context.redirect(LOGIN_PATH, 303);
  });
  return app;
}

function LoginPage({ next, error }: { readonly next: string; readonly error?: string }) {
  return (
    <Page title="Log in" area={null}>
      <PostForm action={LOGIN_PATH} class="narrow" isForEveryone>
        <input type="hidden" name="next" value={next} />
        <Field
          label="Token"
          name="token"
          type="password"
          hint="OPS_TOKEN of this server, or your own token"
          error={error}
          maxlength={600}
          autocomplete="current-password"
          required
          autofocus
        />
        <Button kind="main">Log in</Button>
      </PostForm>
    </Page>
  );
}
