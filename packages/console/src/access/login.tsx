import { Hono } from 'hono';
import type { Logger, TokenVerdict } from 'instep/operate';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Page } from '../page.tsx';
import { tooManyAttempts } from '../problems.tsx';
import type { ConsoleEnv } from '../request-context.ts';
import type { CookieSessions } from './cookie-sessions.ts';

export const LOGIN_PATH = '/login';

export type LoginOptions = {
  readonly checkToken: (token: string) => Promise<TokenVerdict>;
  readonly sessions: CookieSessions;
  readonly logger: Logger;
};

/** @throws PageProblem 429 when too many wrong tokens are waiting */
export async function isRight(check: LoginOptions['checkToken'], token: string): Promise<boolean> {
  const verdict = await check(token);
  if (verdict === 'too many') throw tooManyAttempts();
  return verdict === 'right';
}

/** `/login` and `/logout`. */
export function loginPages({ checkToken, sessions, logger }: LoginOptions): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>();
  app.get(LOGIN_PATH, (context) => {
    const next = ownPath(context.req.query('next'));
    if (context.var.viewer.kind !== 'visitor') return context.redirect(next, 303);
    return context.render(<LoginPage next={next} />);
  });
  app.post(LOGIN_PATH, async (context) => {
    const { token, next: wanted } = await context.req.parseBody();
    const next = ownPath(wanted);
    if (typeof token !== 'string' || !(await isRight(checkToken, token.trim()))) {
      context.status(401);
      return context.render(<LoginPage next={next} error="Wrong token." />);
    }
    await sessions.begin(context);
    logger.info('operator logged in');
    return context.redirect(next, 303);
  });
  app.post('/logout', (context) => {
    sessions.end(context);
    logger.info('operator logged out');
    return context.redirect(LOGIN_PATH, 303);
  });
  return app;
}

/**
 * The path if it is one of ours, otherwise `/`, so that a link to the login can't redirect to another site.
 */
function ownPath(wanted: unknown): string {
  const here = 'http://here.invalid';
  if (typeof wanted !== 'string' || !URL.canParse(wanted, here)) return '/';
  const { origin, pathname, search } = new URL(wanted, here);
  // A path that begins with two slashes names a host.
  return origin === here && !pathname.startsWith('//') ? pathname + search : '/';
}

function LoginPage({ next, error }: { readonly next: string; readonly error?: string }) {
  return (
    <Page title="Log in" area={null}>
      <PostForm action={LOGIN_PATH} class="narrow">
        <input type="hidden" name="next" value={next} />
        <Field
          label="Token"
          name="token"
          type="password"
          hint="OPS_TOKEN of this server"
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
